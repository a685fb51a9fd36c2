"""`planwerk ingest`: bring a folder of documents into a collection, and wait until they are read (C3.1)."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from planwerk.cli.errors import Answered, CommandError, UsageFault
from planwerk.cli.exit_codes import ExitCode
from planwerk.cli.options import Data, Json, Key, Server
from planwerk.cli.output import console, count, print_json

if TYPE_CHECKING:
    from planwerk.cli.client import Api

LOOK_SECONDS: Final = 0.3
PAGE: Final = 200
Access = Annotated[
    list[str] | None,
    typer.Option(
        "--access",
        metavar="WHO",
        help="Who may read a new collection: everyone, account:ID, role:NAME, profile:SLUG; may be repeated.",
    ),
]


class SomeFailed(CommandError):
    """Documents could not be read; each was told with its reason."""

    code = "documents_failed"
    exit_code = ExitCode.PROBLEM


@dataclass(slots=True)
class Tally:
    """What became of the documents."""

    collection: str
    read: int = 0
    unchanged: int = 0
    deleted: int = 0
    failed: list[dict[str, Any]] | None = None

    def as_json(self) -> dict[str, Any]:
        return {
            "collection": self.collection,
            "read": self.read,
            "unchanged": self.unchanged,
            "deleted": self.deleted,
            "failed": self.failed or [],
        }


def ingest(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="A folder, with all below it; or one file.")],
    collection: Annotated[str, typer.Option("--collection", metavar="NAME", help="Its name, or id; made if missing.")],
    access: Access = None,
    prune: Annotated[
        bool, typer.Option("--prune", help="Delete documents that are not in the folder any more.")
    ] = False,
    data: Data = None,
    server: Server = None,
    key: Key = None,
    as_json: Json = False,
) -> None:
    """Bring documents into a collection; what is there with the same content is left as it is.

    PDF, DOCX, PPTX, XLSX, HTML, Markdown, text and e-mail are read, by their content. A document that cannot be read is
    told with its reason and stops no other.
    """
    from planwerk.cli.client import Target, connect

    files = files_of(folder)

    async def main() -> Tally:
        async with connect(Target(server, key, {"data": data}, work=True)) as api:
            where = await find_or_make(api, collection, access)
            return await bring(api, where, files, prune=prune, shows=not as_json)

    tally = asyncio.run(main())
    if as_json:
        print_json(tally.as_json())
    else:
        print(summary(tally))
    if tally.failed:
        raise SomeFailed(
            f"{count(len(tally.failed), 'document')} could not be read.",
            what_to_do="The others are searched; mend these and ingest again.",
        )


def files_of(folder: Path) -> list[tuple[str, Path]]:
    """The files of a folder by the names they get, in order; hidden ones are left out.

    Raises:
        UsageFault: There is none.
    """
    if folder.is_file():
        return [(folder.name, folder)]
    if not folder.is_dir():
        raise UsageFault(f"there is no folder {str(folder)!r}.", what_to_do="Name a folder or a file that is there.")
    found = [
        (path.relative_to(folder).as_posix(), path)
        for path in sorted(folder.rglob("*"))
        if path.is_file() and not any(part.startswith(".") for part in path.relative_to(folder).parts)
    ]
    if not found:
        raise UsageFault(f"the folder {str(folder)!r} has no files.", what_to_do="Put documents in it first.")
    return found


async def find_or_make(api: Api, name: str, access: Iterable[str] | None) -> dict[str, Any]:
    """The collection of this id or name, one's own first; a new one if there is none.

    Raises:
        UsageFault: Several have this name, and none of them can be changed alone.
    """
    listed = (await api.get("/api/collections"))["items"]
    found = [each for each in listed if each["id"] == name] or [each for each in listed if each["name"] == name]
    editable = [each for each in found if each["may_edit"]]
    if len(editable) == 1:
        return editable[0]
    if len(editable) > 1:
        raise UsageFault(
            f"there are {len(editable)} collections {name!r} that you may change.",
            what_to_do=f"Name one by its id: {', '.join(each['id'] for each in editable)}.",
        )
    entries = list(access or ())
    body = {"name": name, "access": None if "everyone" in entries else entries}
    made: dict[str, Any] = await api.post("/api/collections", body)
    return made


async def bring(
    api: Api, collection: dict[str, Any], files: list[tuple[str, Path]], *, prune: bool, shows: bool
) -> Tally:
    """Send what is new, and wait until all of it is read."""
    tally = Tally(collection["id"], failed=[])
    progress = _progress() if shows else None
    with progress if progress is not None else nullcontext():
        task = progress.add_task("", total=2 * len(files)) if progress is not None else None

        def advance(by: int) -> None:
            if progress is not None and task is not None:
                progress.advance(task, by)

        waiting: dict[str, str] = {}
        for name, path in files:
            sent = await _send(api, collection["id"], name, path, tally)
            if sent is None or not sent["changed"]:
                tally.unchanged += sent is not None
                advance(2)
            else:
                waiting[sent["id"]] = name
                advance(1)
        while waiting:
            for document in await _ended(api, collection["id"], waiting):
                waiting.pop(document["id"])
                _count(tally, document)
                advance(1)
            if waiting:
                await asyncio.sleep(LOOK_SECONDS)
    if prune:
        tally.deleted = await _prune(api, collection["id"], {name for name, _ in files})
    return tally


async def _send(api: Api, collection: str, name: str, path: Path, tally: Tally) -> dict[str, Any] | None:
    """Send a file and return its document; None where it was refused, which is told."""
    try:
        with path.open("rb") as opened:
            answer = await api.call(
                "POST",
                f"/api/collections/{collection}/documents",
                data={"name": name},
                files={"file": (path.name, opened, "application/octet-stream")},
            )
    except Answered as error:
        if error.status != 413:
            raise
        _fail(tally, name, error.code, error.message, error.what_to_do)
        return None
    sent: dict[str, Any] = answer["items"][0]
    return sent


async def _ended(api: Api, collection: str, waiting: dict[str, str]) -> list[dict[str, Any]]:
    """Of those that wait, the documents that are ready or failed by now."""
    if len(waiting) <= 20:
        found = [await api.get(f"/api/documents/{document}") for document in waiting]
    else:
        found = [document async for document in _documents(api, collection)]
    return [each for each in found if each["id"] in waiting and each["state"] in {"ready", "failed"}]


async def _documents(api: Api, collection: str) -> AsyncIterator[dict[str, Any]]:
    cursor: str | None = None
    while True:
        page = await api.get(f"/api/collections/{collection}/documents", cursor=cursor, limit=PAGE)
        for document in page["items"]:
            yield document
        cursor = page["next"]
        if cursor is None:
            return


async def _prune(api: Api, collection: str, names: set[str]) -> int:
    gone = [document["id"] async for document in _documents(api, collection) if document["name"] not in names]
    for document in gone:
        await api.call("DELETE", f"/api/documents/{document}")
    return len(gone)


def _count(tally: Tally, document: dict[str, Any]) -> None:
    failure = document["failure"]
    if document["state"] == "ready":
        tally.read += 1
    else:
        _fail(tally, document["name"], failure["code"], failure["message"], failure["what_to_do"])


def _fail(tally: Tally, name: str, code: str, message: str, what_to_do: str) -> None:
    assert tally.failed is not None
    tally.failed.append({"name": name, "code": code, "message": message, "what_to_do": what_to_do})


def summary(tally: Tally) -> str:
    """What became of the documents, failures with their reasons, for people."""
    failed = tally.failed or []
    parts = [f"{count(tally.read, 'document')} read", f"{tally.unchanged} unchanged"]
    if tally.deleted:
        parts.append(f"{tally.deleted} deleted")
    if failed:
        parts.append(f"{len(failed)} failed")
    lines = [", ".join(parts) + "."]
    lines += [f"  {each['name']}: {each['message']} {each['what_to_do']}".rstrip() for each in failed]
    return "\n".join(lines)


def _progress() -> Any:
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    return Progress(
        TextColumn("Reading documents"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        console=console(to_stderr=True),
        transient=True,
    )
