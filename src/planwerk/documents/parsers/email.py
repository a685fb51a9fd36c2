"""E-mail: who wrote to whom when about what, then the text; attachments are named, not read."""

from __future__ import annotations

from email import message_from_binary_file, policy
from email.message import EmailMessage
from pathlib import Path

from planwerk.documents.errors import BrokenDocument
from planwerk.documents.parsed import ParsedDocument
from planwerk.documents.parsers.decoding import clean, decode
from planwerk.documents.parsers.html import to_markdown

SHOWN = ("From", "To", "Cc", "Date")


def parse(path: Path) -> ParsedDocument:
    """One message (RFC 5322)."""
    with path.open("rb") as file:
        message = message_from_binary_file(file, policy=policy.default)
    try:
        subject = " ".join(str(message.get("Subject", "")).split())
        headers = [f"{name}: {' '.join(str(message[name]).split())}" for name in SHOWN if message[name]]
        body = _body(message)
        attached = [name for part in message.iter_attachments() if (name := part.get_filename())]
    except (LookupError, ValueError, AttributeError, TypeError) as error:
        raise BrokenDocument("The e-mail is damaged.") from error
    parts = [f"# {subject}" if subject else "", "\n".join(f"- {line}" for line in headers), body]
    if attached:
        parts.append("\n".join(f"- {name}" for name in attached))
    return ParsedDocument("email", clean("\n\n".join(part for part in parts if part.strip())), clean(subject))


def _body(message: EmailMessage) -> str:
    part = message.get_body(preferencelist=("plain", "html"))
    if part is None:
        return ""
    try:
        content = str(part.get_content())
    except (LookupError, UnicodeDecodeError):
        raw = part.get_payload(decode=True)
        content = decode(raw) if isinstance(raw, bytes) else ""
    text = to_markdown(content) if part.get_content_subtype() == "html" else content
    return clean(text).strip()
