"""What kind a file is, by its content and never by its name alone (C4.3).

A name decides only between kinds that look the same from inside: Markdown and plain text.
"""

from __future__ import annotations

import re
import zipfile
from pathlib import Path, PurePosixPath
from typing import Any, Final

from planwerk.documents.errors import (
    BrokenDocument,
    DocumentTooLarge,
    EmptyDocument,
    EncryptedDocument,
    UnsupportedDocument,
)
from planwerk.documents.limits import RATIO_COUNTS_FROM_BYTES, ParseLimits
from planwerk.documents.parsed import DocumentKind

HEAD_BYTES: Final = 65_536
OLE: Final = bytes.fromhex("d0cf11e0a1b11ae1")
ENCRYPTED_PACKAGE: Final = "EncryptedPackage".encode("utf-16-le")
OFFICE: Final[tuple[tuple[str, DocumentKind], ...]] = (
    ("word/document.xml", "docx"),
    ("ppt/presentation.xml", "pptx"),
    ("xl/workbook.xml", "xlsx"),
    ("xl/workbook.bin", "xlsx"),
)
MARKDOWN_NAMES: Final = frozenset({".md", ".markdown", ".mdown", ".mkd"})
_HTML: Final = re.compile(
    rb"\A\s*(?:<\?xml[^>]*>\s*)?(?:<!--.*?-->\s*)*<(?:!doctype\s+html|html|head|body)\b", re.I | re.S
)
_HEADER: Final = re.compile(rb"\A(?:From |(?:[A-Za-z][A-Za-z0-9-]{1,40}):[ \t])")
_MAIL_HEADERS: Final = re.compile(
    rb"^(?:From|To|Subject|Date|Message-ID|MIME-Version|Received|Return-Path|Delivered-To):", re.I | re.M
)
_CONTROLS: Final = re.compile(rb"[\x00-\x08\x0e-\x1a\x1c-\x1f]")


def detect(path: Path, name: str, limits: ParseLimits) -> DocumentKind:
    """The kind of a file.

    Args:
        name: What people call it; only its ending counts, and only for what looks like text.

    Raises:
        DocumentError: Empty, protected, broken, too large, or of a kind that is not read.
    """
    size = path.stat().st_size
    if size == 0:
        raise EmptyDocument("The file is empty.")
    if size > limits.file_bytes:
        raise DocumentTooLarge(f"The file has {_mebibytes(size)}, and {_mebibytes(limits.file_bytes)} is the limit.")
    with path.open("rb") as file:
        head = file.read(HEAD_BYTES)
    if b"%PDF-" in head[:1024]:
        return "pdf"
    if head.startswith(b"PK"):
        return _office(path, size, limits)
    if head.startswith(OLE):
        if _holds(path, ENCRYPTED_PACKAGE):
            raise EncryptedDocument("The document is protected by a password.")
        raise UnsupportedDocument("This is a document of an old Office program (before 2007).")
    return _text(head, name, path)


def _office(path: Path, size: int, limits: ParseLimits) -> DocumentKind:
    try:
        with zipfile.ZipFile(path) as archive:
            entries = archive.infolist()
    except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError) as error:
        raise BrokenDocument("The file begins as an Office document or archive, and is damaged.") from error
    if any(entry.flag_bits & 0x1 for entry in entries):
        raise EncryptedDocument("The file is protected by a password.")
    unpacked = sum(entry.file_size for entry in entries)
    is_bomb = unpacked > RATIO_COUNTS_FROM_BYTES and unpacked > size * limits.unpacked_ratio
    if unpacked > limits.unpacked_bytes or is_bomb or len(entries) > limits.archive_entries:
        raise DocumentTooLarge(
            f"The file has {_mebibytes(size)} and unpacks to {_mebibytes(unpacked)} in {len(entries)} parts, which is "
            "more than is read."
        )
    names = {entry.filename for entry in entries}
    for part, kind in OFFICE:
        if part in names:
            return kind
    raise UnsupportedDocument("This is an archive or a document of another program.")


def _text(head: bytes, name: str, path: Path) -> DocumentKind:
    is_wide = head[:2] in {b"\xff\xfe", b"\xfe\xff"}
    if _CONTROLS.search(head) and not is_wide:
        raise UnsupportedDocument(f"The content is {_described(path)}, which is no text.")
    if head.lstrip().startswith(b"{\\rtf"):
        raise UnsupportedDocument("This is a Rich Text document (RTF).")
    if _HTML.search(head):
        return "html"
    if _HEADER.match(head) and len({found.lower() for found in _MAIL_HEADERS.findall(head[:8192])}) >= 2:
        return "email"
    return "markdown" if PurePosixPath(name.lower()).suffix in MARKDOWN_NAMES else "text"


def _described(path: Path) -> str:
    """What the content looks like, in the words of a table of known beginnings."""
    import puremagic

    sniffer: Any = puremagic  # its types are only partly told
    found: list[Any]
    try:
        found = sniffer.magic_file(str(path))
    except (puremagic.PureError, ValueError, OSError):
        found = []
    return str(found[0].name or found[0].mime_type or "binary data") if found else "binary data"


def _holds(path: Path, wanted: bytes) -> bool:
    with path.open("rb") as file:
        tail = b""
        while block := file.read(1 << 20):
            if wanted in tail + block:
                return True
            tail = block[-len(wanted) :]
    return False


def _mebibytes(size: int) -> str:
    return f"{size / 1_048_576:,.1f} MiB" if size >= 104_858 else f"{size:,} bytes"
