"""Adapters that keep everything in this process, one file per port."""
