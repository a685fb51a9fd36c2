"""Why a file gives no text; each in words for the person who brought it.

PlanwerkError
└── DocumentError
    ├── UnsupportedDocument       its content is of a kind that is not read
    ├── BrokenDocument            it says to be of a kind and cannot be read as one
    ├── EncryptedDocument         it is protected by a password
    ├── EmptyDocument             there is no text in it
    ├── DocumentTooLarge          the file, or what it unpacks to, is larger than the limit
    └── DocumentTooHard           reading it took more time or memory than the limit
"""

from __future__ import annotations

from typing import ClassVar

from planwerk.workflow.errors import PlanwerkError


class DocumentError(PlanwerkError):
    """A file gives no text."""

    code = "document_unreadable"
    http_status = 422
    advice: ClassVar[str] = ""

    def __init__(self, message: str) -> None:
        super().__init__(message, what_to_do=self.advice)


class UnsupportedDocument(DocumentError):
    """The content is of a kind that is not read."""

    code = "document_unsupported"
    advice = "Save it as PDF, DOCX, PPTX, XLSX, HTML, Markdown, text or e-mail (.eml)."


class BrokenDocument(DocumentError):
    """The content begins as a kind that is read, and cannot be read as one."""

    code = "document_broken"
    advice = "Open it in the program it was made with, save it again, and bring it anew."


class EncryptedDocument(DocumentError):
    """A password protects the content."""

    code = "document_encrypted"
    advice = "Save it without a password, and bring it anew."


class EmptyDocument(DocumentError):
    """There is no text in it."""

    code = "document_empty"
    advice = "If it shows scanned pages, run text recognition (OCR) on it first."


class DocumentTooLarge(DocumentError):
    """The file, or what it unpacks to, is larger than the limit."""

    code = "document_too_large"
    advice = "Split it into smaller documents."


class DocumentTooHard(DocumentError):
    """Reading took more time or memory than the limit, and was stopped."""

    code = "document_too_hard"
    advice = "Split it into smaller documents, or save it in a simpler format."


def _kinds() -> dict[str, type[DocumentError]]:
    return {kind.code: kind for kind in (DocumentError, *DocumentError.__subclasses__())}


def document_error(code: str, message: str) -> DocumentError:
    """The error that another process told by its code and words."""
    return _kinds().get(code, DocumentError)(message)
