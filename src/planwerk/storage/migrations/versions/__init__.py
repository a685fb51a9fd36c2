"""One file per revision, written by `python -m planwerk.storage.migrations.revise` and checked by a person."""
