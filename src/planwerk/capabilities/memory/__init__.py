"""Memory: what is known about a person, and what an organisation keeps (C2)."""
