"""One file per kind of document; each turns a path into a `ParsedDocument` and runs in a bounded process."""
