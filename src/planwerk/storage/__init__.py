"""Adapters of the ports: in memory and on SQLite. Only `app.py` and `testing` import this package."""
