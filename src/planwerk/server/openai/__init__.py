"""The OpenAI-compatible surface: profiles are models (S4.1, W1, W2)."""
