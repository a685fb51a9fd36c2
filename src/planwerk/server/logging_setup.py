"""The server's log: structured, on standard error; pretty on a terminal, one JSON object a line otherwise (S6.2)."""

from __future__ import annotations

import logging
import sys
from typing import Any, Final, Literal, TextIO

import structlog
from structlog.types import Processor

from planwerk.runtime.log_context import add_step

Format = Literal["auto", "pretty", "json"]

QUIET: Final = ("uvicorn", "uvicorn.error", "uvicorn.access", "httpx2", "httpcore2", "asyncio", "watchfiles")
"""Loggers of others whose everyday entries say nothing an operator needs."""


def set_up_logging(level: str = "info", form: Format = "auto", stream: TextIO | None = None) -> None:
    """Send what this process logs, by structlog or the standard library, to one place in one form."""
    out = stream or sys.stderr
    pretty = form == "pretty" or (form == "auto" and out.isatty())
    shared: list[Processor] = [
        structlog.contextvars.merge_contextvars,
        add_step,
        structlog.stdlib.add_log_level,
        structlog.stdlib.add_logger_name,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
    ]
    structlog.configure(
        processors=[*shared, structlog.stdlib.ProcessorFormatter.wrap_for_formatter],
        logger_factory=structlog.stdlib.LoggerFactory(),
        wrapper_class=structlog.stdlib.BoundLogger,
        cache_logger_on_first_use=False,
    )
    handler = logging.StreamHandler(out)
    handler.setFormatter(structlog.stdlib.ProcessorFormatter(foreign_pre_chain=shared, processors=_ending(pretty, out)))
    root = logging.getLogger()
    for known in list(root.handlers):
        if isinstance(known.formatter, structlog.stdlib.ProcessorFormatter):
            root.removeHandler(known)
    root.addHandler(handler)
    root.setLevel(level.upper())
    for name in QUIET:
        logging.getLogger(name).setLevel(max(logging.WARNING, root.level))


def _ending(pretty: bool, out: TextIO) -> list[Any]:
    drop = structlog.stdlib.ProcessorFormatter.remove_processors_meta
    if pretty:
        return [drop, structlog.dev.ConsoleRenderer(colors=out.isatty())]
    return [drop, structlog.processors.format_exc_info, structlog.processors.JSONRenderer(ensure_ascii=False)]
