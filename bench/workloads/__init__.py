"""One file per workload; each has a `WORKLOAD`."""
