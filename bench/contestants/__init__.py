"""One file per contestant; each has a `CONTESTANT`. Peers are written as their docs show, in their faster form."""
