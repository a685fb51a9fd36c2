"""Adapters on one SQLite file, one file per port; all of them write through `database.py`."""
