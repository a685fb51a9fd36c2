"""The demo model: offline, deterministic, and good enough to try every screen without a key (S1.1)."""
