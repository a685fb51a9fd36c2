"""Run the server and Vite side by side, both reloading; the first to end, or Ctrl-C, ends the other.

Vite proxies /api, /v1, /signin and /health to the server's default address. Arguments are passed to `planwerk serve`.
"""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
GRACE_SECONDS = 10


def main(arguments: list[str]) -> int:
    """Start both and wait; return the exit code of the one that ended first."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    children = [
        subprocess.Popen([str(Path(sys.executable).with_name("planwerk")), "serve", "--reload", *arguments], cwd=ROOT),
        subprocess.Popen([str(ROOT / "ui/node_modules/.bin/vite")], cwd=ROOT / "ui"),
    ]
    try:
        while all(child.poll() is None for child in children):
            time.sleep(0.2)
        return next(child.returncode for child in children if child.poll() is not None)
    except KeyboardInterrupt:
        return 0
    finally:
        end(children)


def end(children: list[subprocess.Popen[bytes]]) -> None:
    """Ask each to end, and insist after a while."""
    for child in children:
        if child.poll() is None:
            child.terminate()
    for child in children:
        try:
            child.wait(GRACE_SECONDS)
        except subprocess.TimeoutExpired:
            child.kill()
            child.wait()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
