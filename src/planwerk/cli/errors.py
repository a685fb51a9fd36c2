"""Errors as the command line shows them: one line that says what to do next, and an exit code."""

from __future__ import annotations

import json
import sys
import traceback
from collections.abc import Mapping

from planwerk.cli.exit_codes import ExitCode
from planwerk.workflow.errors import PlanwerkError


class CommandError(PlanwerkError):
    """A command cannot go on."""

    code = "command_error"
    exit_code: ExitCode = ExitCode.PROBLEM


class UsageFault(CommandError):
    """The command was called in a way that cannot be followed."""

    code = "usage"
    exit_code = ExitCode.USAGE


class Unreachable(CommandError):
    """The server does not answer."""

    code = "server_unreachable"
    exit_code = ExitCode.UNREACHABLE


class Answered(CommandError):
    """The server answered with a problem; its code and words are passed on."""

    def __init__(self, status: int, code: str, message: str, what_to_do: str) -> None:
        super().__init__(message, what_to_do=what_to_do)
        self.status = status
        self.code = code  # pyright: ignore[reportAttributeAccessIssue] - the server's own code, of this answer
        self.exit_code = _BY_STATUS.get(status, ExitCode.PROBLEM)


_BY_STATUS: Mapping[int, ExitCode] = {
    400: ExitCode.USAGE,
    401: ExitCode.REFUSED,
    403: ExitCode.REFUSED,
    404: ExitCode.NOT_FOUND,
    422: ExitCode.USAGE,
    502: ExitCode.UNREACHABLE,
    503: ExitCode.UNREACHABLE,
    504: ExitCode.UNREACHABLE,
}

_BY_CODE: Mapping[str, ExitCode] = {
    "setting_error": ExitCode.USAGE,
    "setting_invalid": ExitCode.USAGE,
    "unknown_setting": ExitCode.USAGE,
    "settings_unreadable": ExitCode.USAGE,
    "unsupported_storage": ExitCode.USAGE,
    "unknown_model": ExitCode.USAGE,
    "module_not_found": ExitCode.PROBLEM,
    "port_taken": ExitCode.UNREACHABLE,
    "data_folder_held": ExitCode.UNREACHABLE,
}


def exit_code_of(error: PlanwerkError) -> ExitCode:
    """The exit code that an error of ours ends a command with."""
    if isinstance(error, CommandError):
        return error.exit_code
    return _BY_CODE.get(error.code) or _BY_STATUS.get(error.http_status, ExitCode.PROBLEM)


def report(error: BaseException, *, as_json: bool, with_trace: bool) -> ExitCode:
    """Print an error to standard error and return the exit code."""
    if with_trace:
        traceback.print_exception(error)
    if isinstance(error, PlanwerkError):
        code, message, what_to_do, ending = error.code, error.message, error.what_to_do, exit_code_of(error)
    elif isinstance(error, OSError):
        code, ending = "not_possible", ExitCode.PROBLEM
        message = f"{error.filename or type(error).__name__}: {error.strerror or error}."
        what_to_do = "Check that it is there, and that this account may use it."
    else:
        code, ending = "internal_error", ExitCode.INTERNAL
        message = f"{type(error).__name__}: {' '.join(str(error).split())}".rstrip(": ") + "."
        what_to_do = "This is a fault of Planwerk; --debug shows where."
    tell(code, message, what_to_do, as_json=as_json)
    return ending


def tell(code: str, message: str, what_to_do: str, *, as_json: bool) -> None:
    """One error on standard error, in one line."""
    if as_json:
        problem = {"error": {"code": code, "message": message, "what_to_do": what_to_do}}
        print(json.dumps(problem, ensure_ascii=False), file=sys.stderr)
        return
    line = " ".join(f"{message} {what_to_do}".split())
    first = line.partition(" ")[0]
    print(f"planwerk: {line[:1].upper() + line[1:] if first.isalpha() else line}", file=sys.stderr)
