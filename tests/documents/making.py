"""Documents of every kind, made here: no binary file lies in the repository."""

from __future__ import annotations

import zipfile
from collections.abc import Sequence
from email.message import EmailMessage
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape

import pptx
import xlsxwriter  # pyright: ignore[reportMissingTypeStubs] - the package has none


def write_pdf(path: Path, pages: Sequence[Sequence[str]], *, title: str = "", encrypted: bool = False) -> Path:
    """Pages of lines, in a font every reader has; characters of Windows-1252 only."""
    objects: list[bytes] = [b"<< /Type /Catalog /Pages 2 0 R >>", b""]
    objects.append(b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>")
    kids: list[str] = []
    for lines in pages:
        shown = b"".join(b"(" + _pdf_text(line) + b") Tj 0 -16 Td\n" for line in lines)
        stream = b"BT /F1 11 Tf 50 780 Td\n" + shown + b"ET"
        objects.append(b"<< /Length %d >>\nstream\n%s\nendstream" % (len(stream), stream))
        objects.append(
            b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Contents %d 0 R"
            b" /Resources << /Font << /F1 3 0 R >> >> >>" % len(objects)
        )
        kids.append(f"{len(objects)} 0 R")
    objects[1] = f"<< /Type /Pages /Count {len(pages)} /Kids [{' '.join(kids)}] >>".encode()
    objects.append(b"<< /Title (" + _pdf_text(title) + b") >>")
    trailer = f"/Root 1 0 R /Info {len(objects)} 0 R"
    if encrypted:
        secret = "00" * 32
        objects.append(f"<< /Filter /Standard /V 2 /R 3 /Length 128 /P -4 /O <{secret}> /U <{secret}> >>".encode())
        trailer += f" /Encrypt {len(objects)} 0 R /ID [<{'11' * 16}> <{'11' * 16}>]"
    data, places = b"%PDF-1.4\n", list[int]()
    for number, body in enumerate(objects, 1):
        places.append(len(data))
        data += b"%d 0 obj\n%s\nendobj\n" % (number, body)
    table = "".join(f"{place:010} 00000 n \n" for place in places)
    end = f"xref\n0 {len(objects) + 1}\n0000000000 65535 f \n{table}trailer\n<< /Size {len(objects) + 1} {trailer} >>\n"
    path.write_bytes(data + f"{end}startxref\n{len(data)}\n%%EOF\n".encode())
    return path


def _pdf_text(text: str) -> bytes:
    encoded = text.encode("cp1252")
    return encoded.replace(b"\\", b"\\\\").replace(b"(", b"\\(").replace(b")", b"\\)")


WORD = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
RELATIONS = "http://schemas.openxmlformats.org/package/2006/relationships"
OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"


def write_docx(path: Path, paragraphs: Sequence[tuple[str, str]], *, title: str = "") -> Path:
    """Paragraphs as pairs of a style (`Heading1`, `Heading2`, empty) and their words."""
    body = "".join(
        f'<w:p><w:pPr><w:pStyle w:val="{style or "Normal"}"/></w:pPr>'
        f'<w:r><w:t xml:space="preserve">{escape(text)}</w:t></w:r></w:p>'
        for style, text in paragraphs
    )
    styles = "".join(
        f'<w:style w:type="paragraph" w:styleId="Heading{n}"><w:name w:val="heading {n}"/></w:style>' for n in (1, 2)
    )
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(
            "[Content_Types].xml",
            '<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types">'
            '<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
            '<Default Extension="xml" ContentType="application/xml"/></Types>',
        )
        archive.writestr(
            "_rels/.rels",
            f'<Relationships xmlns="{RELATIONS}"><Relationship Id="r1" Type="{OFFICE}/officeDocument"'
            ' Target="word/document.xml"/></Relationships>',
        )
        archive.writestr(
            "word/_rels/document.xml.rels",
            f'<Relationships xmlns="{RELATIONS}"><Relationship Id="r1" Type="{OFFICE}/styles" Target="styles.xml"/>'
            "</Relationships>",
        )
        archive.writestr("word/styles.xml", f'<w:styles xmlns:w="{WORD}">{styles}</w:styles>')
        archive.writestr("word/document.xml", f'<w:document xmlns:w="{WORD}"><w:body>{body}</w:body></w:document>')
        archive.writestr(
            "docProps/core.xml",
            '<cp:coreProperties xmlns:cp="http://schemas.openxmlformats.org/package/2006/metadata/core-properties"'
            f' xmlns:dc="http://purl.org/dc/elements/1.1/"><dc:title>{escape(title)}</dc:title></cp:coreProperties>',
        )
    return path


def write_pptx(path: Path, slides: Sequence[tuple[str, Sequence[str]]]) -> Path:
    """Slides as pairs of a title and its points."""
    presentation: Any = pptx.Presentation()
    for title, points in slides:
        slide = presentation.slides.add_slide(presentation.slide_layouts[1])
        slide.shapes.title.text = title
        slide.placeholders[1].text_frame.text = "\n".join(points)
    presentation.save(str(path))
    return path


def write_xlsx(path: Path, sheets: Sequence[tuple[str, Sequence[Sequence[Any]]]]) -> Path:
    """Sheets as pairs of a name and its rows."""
    book: Any = xlsxwriter.Workbook(str(path))
    for name, rows in sheets:
        sheet = book.add_worksheet(name)
        for number, row in enumerate(rows):
            sheet.write_row(number, 0, row)
    book.close()
    return path


def write_mail(path: Path, subject: str, text: str, *, html: str = "", attachment: str = "") -> Path:
    """One message from Ada to Ben."""
    message = EmailMessage()
    message["From"], message["To"], message["Subject"] = "Ada <ada@example.org>", "Ben <ben@example.org>", subject
    message["Date"] = "Tue, 03 Mar 2026 10:00:00 +0100"
    message.set_content(text)
    if html:
        message.add_alternative(html, subtype="html")
    if attachment:
        message.add_attachment(b"\0\1", maintype="application", subtype="octet-stream", filename=attachment)
    path.write_bytes(message.as_bytes())
    return path


def write_bomb(path: Path) -> Path:
    """A small workbook that says to unpack to 64 MiB of nothing."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        archive.writestr("xl/workbook.xml", b"\0" * 67_108_864)
    return path
