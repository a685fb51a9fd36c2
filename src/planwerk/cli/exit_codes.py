"""Exit codes of the command line; `docs/cli.md` lists them, and a test compares."""

from __future__ import annotations

from enum import IntEnum


class ExitCode(IntEnum):
    """What a command ended with."""

    DONE = 0
    PROBLEM = 1
    USAGE = 2
    NOT_FOUND = 3
    UNREACHABLE = 4
    REFUSED = 5
    RUN_FAILED = 6
    RUN_STOPPED = 7
    RUN_WAITING = 8
    INTERNAL = 70
    LEFT = 130


MEANINGS = {
    ExitCode.DONE: "Done.",
    ExitCode.PROBLEM: "A problem was found, such as by `check` or `doctor`, or something could not be done.",
    ExitCode.USAGE: "The command, an option or a setting is unknown or has a wrong value.",
    ExitCode.NOT_FOUND: "There is no such profile, account or key.",
    ExitCode.UNREACHABLE: "The server cannot be reached, its port is taken, or another server holds the data folder.",
    ExitCode.REFUSED: "The key is wrong, or the account may not do this.",
    ExitCode.RUN_FAILED: "The run ended with an error, such as a model that cannot be reached.",
    ExitCode.RUN_STOPPED: "The run was stopped before it had answered.",
    ExitCode.RUN_WAITING: "The run waits for a person; `planwerk approvals` lists what it asks, and answers it.",
    ExitCode.INTERNAL: "A fault of Planwerk.",
    ExitCode.LEFT: "Ctrl-C.",
}
