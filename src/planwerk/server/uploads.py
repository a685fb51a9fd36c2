"""Files of a multipart request, each streamed into the store as it comes: nothing is held in memory (SRV-21)."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from python_multipart.exceptions import MultipartParseError
from python_multipart.multipart import MultipartParser, parse_options_header
from starlette.requests import Request

from planwerk.workflow.errors import PlanwerkError
from planwerk.workspace.files import StoredFile
from planwerk.workspace.ports import FileStore, FileWriter

if TYPE_CHECKING:
    from python_multipart.multipart import MultipartCallbacks

MOST_FILES: Final = 20
FIELD_BYTES: Final = 8192


class UploadInvalid(PlanwerkError):
    """A request brings no files, or not in the form that files are sent in."""

    code = "upload_invalid"
    http_status = 400

    def __init__(self, message: str) -> None:
        super().__init__(
            message, what_to_do="Send multipart/form-data with one part named 'file' for each file, with a file name."
        )


@dataclass(frozen=True, slots=True)
class Upload:
    """A file that was sent, and what its sender calls it."""

    name: str
    file: StoredFile


async def receive_files(request: Request, store: FileStore, tenant: str, *, most_bytes: int) -> list[Upload]:
    """The files of the request; if anything goes wrong, none of them is kept.

    A form field `name` before a file names it in place of its file name.

    Raises:
        UploadInvalid: The body is none of this form, or has no file, or too many.
        FileTooLarge: A file is larger than the limit.
        TooLarge: The body is.
    """
    kind, options = parse_options_header(request.headers.get("content-type"))
    boundary = options.get(b"boundary")
    if kind != b"multipart/form-data" or not boundary:
        raise UploadInvalid("The request is no form with files.")
    receiver = _Receiver(store, tenant, most_bytes)
    try:
        await _feed(request.stream(), MultipartParser(boundary, receiver.callbacks()))
        if not receiver.done or receiver.ended is False:
            raise UploadInvalid("The request brings no file, or breaks off.")
    except BaseException as error:
        await receiver.drop_all()
        if isinstance(error, MultipartParseError):
            raise UploadInvalid("The form with files is malformed.") from error
        raise
    return receiver.done


async def _feed(pieces: AsyncIterator[bytes], parser: MultipartParser) -> None:
    async for piece in pieces:
        parser.write(piece)
    parser.finalize()


@dataclass(slots=True)
class _Receiver:
    store: FileStore
    tenant: str
    most_bytes: int
    done: list[Upload] = field(default_factory=list[Upload])
    ended: bool = False
    _headers: dict[bytes, bytes] = field(default_factory=dict[bytes, bytes])
    _header: tuple[bytes, bytes] = (b"", b"")
    _writer: FileWriter | None = None
    _name: str = ""
    _given_name: str = ""
    _field: bytes | None = None

    def callbacks(self) -> MultipartCallbacks:
        return {
            "on_part_begin": self._begin,
            "on_header_field": self._header_name,
            "on_header_value": self._header_value,
            "on_header_end": self._header_end,
            "on_headers_finished": self._headers_finished,
            "on_part_data": self._data,
            "on_part_end": self._end,
            "on_end": self._all,
        }

    def _begin(self) -> None:
        self._headers, self._header = {}, (b"", b"")

    def _header_name(self, data: bytes, start: int, end: int) -> None:
        self._header = (self._header[0] + data[start:end], self._header[1])

    def _header_value(self, data: bytes, start: int, end: int) -> None:
        self._header = (self._header[0], self._header[1] + data[start:end])

    def _header_end(self) -> None:
        self._headers[self._header[0].lower()] = self._header[1]
        self._header = (b"", b"")

    def _headers_finished(self) -> None:
        _, options = parse_options_header(self._headers.get(b"content-disposition"))
        filename = options.get(b"filename")
        if filename is None:
            self._field = b""
            self._name = options.get(b"name", b"").decode("utf-8", "replace")
            return
        if len(self.done) >= MOST_FILES:
            raise UploadInvalid(f"The request brings more than {MOST_FILES} files.")
        self._name, self._given_name = self._given_name or filename.decode("utf-8", "replace"), ""
        self._writer = self.store.begin(self.tenant, most_bytes=self.most_bytes)

    def _data(self, data: bytes, start: int, end: int) -> None:
        if self._writer is not None:
            self._writer.write(data[start:end])
        elif self._field is not None:
            self._field += data[start:end]
            if len(self._field) > FIELD_BYTES:
                raise UploadInvalid("A field of the form is too long.")

    def _end(self) -> None:
        if self._writer is not None:
            self.done.append(Upload(self._name, self._writer.finish()))
        elif self._field is not None and self._name == "name":
            self._given_name = self._field.decode("utf-8", "replace")
        self._writer, self._field = None, None

    def _all(self) -> None:
        self.ended = True

    async def drop_all(self) -> None:
        if self._writer is not None:
            self._writer.drop()
        for upload in self.done:
            await self.store.delete(self.tenant, upload.file.id)
