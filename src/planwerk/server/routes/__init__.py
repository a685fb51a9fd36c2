"""The REST surface, one file per resource of `server.md` S2."""
