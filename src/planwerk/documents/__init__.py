"""Documents: what kind a file is, its text with the places it came from, and the passages it falls into (C3.1)."""
