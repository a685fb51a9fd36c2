"""Benchmarks: `python -m bench NAME [--json]` runs a workload beside peers and floors, interleaved in one process."""
