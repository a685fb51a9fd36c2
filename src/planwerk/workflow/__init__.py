"""The rules of runs: events, steps, calls, composition, validation and the state machine. Pure and synchronous."""
