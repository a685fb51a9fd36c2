"""DOCX, PPTX and XLSX as Markdown: headings, lists and tables stay what they are."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from planwerk.documents.parsed import ParsedDocument, PlaceKind, joined
from planwerk.documents.parsers.html import to_markdown


def parse_docx(path: Path) -> ParsedDocument:
    """A text document; its pages are made when it is printed, so it has no places."""
    import mammoth  # pyright: ignore[reportMissingTypeStubs] - it has none

    converter: Any = mammoth
    with path.open("rb") as file:
        html = converter.convert_to_html(file, convert_image=converter.images.img_element(_no_image)).value
    return ParsedDocument("docx", to_markdown(f"<html><body>{html}</body></html>"), _core_title(path))


def _no_image(_: Any) -> dict[str, str]:
    return {}


def parse_pptx(path: Path) -> ParsedDocument:
    """Slides with their titles as headings, tables, and the speaker's notes."""
    from pptx import Presentation

    presentation = Presentation(str(path))
    slides = ((_slide(slide, number), "slide", number, "") for number, slide in enumerate(presentation.slides, 1))
    return joined("pptx", _places(slides), (presentation.core_properties.title or "").strip())


def parse_xlsx(path: Path) -> ParsedDocument:
    """Sheets as tables; formulas by their last values."""
    import python_calamine

    calamine: Any = python_calamine  # its types are only partly told
    with calamine.CalamineWorkbook.from_path(str(path)) as book:
        sheets: list[tuple[str, str, int, str]] = [
            (f"## {name}\n\n{_table(book.get_sheet_by_name(name).to_python())}", "sheet", number, name)
            for number, name in enumerate(book.sheet_names, 1)
            if book.get_sheet_by_name(name).height
        ]
    return joined("xlsx", _places(sheets))


def _places(parts: Iterable[tuple[str, str, int, str]]) -> Iterator[tuple[str, PlaceKind, int, str]]:
    for text, kind, number, name in parts:
        yield text, "slide" if kind == "slide" else "sheet", number, name


def _slide(slide: Any, number: int) -> str:
    title = slide.shapes.title
    heading = " ".join(title.text_frame.text.split()) if title is not None and title.has_text_frame else ""
    lines = [f"## {heading or f'Slide {number}'}"]
    for shape in slide.shapes:
        if title is None or shape.shape_id != title.shape_id:
            lines += _shape(shape)
    if slide.has_notes_slide:
        notes = slide.notes_slide.notes_text_frame
        if notes is not None and notes.text.strip():
            lines.append(notes.text.strip())
    return "\n\n".join(lines) if len(lines) > 1 or heading else ""


def _shape(shape: Any) -> list[str]:
    if getattr(shape, "shapes", None) is not None:
        return [line for inner in shape.shapes for line in _shape(inner)]
    if getattr(shape, "has_table", False):
        return [_table([[cell.text for cell in row.cells] for row in shape.table.rows])]
    if not getattr(shape, "has_text_frame", False):
        return []
    paragraphs = [(item.level, "".join(run.text for run in item.runs).strip()) for item in shape.text_frame.paragraphs]
    said = [(level, text) for level, text in paragraphs if text]
    if len(said) == 1:
        return [said[0][1]]
    return ["\n".join(f"{'  ' * level}- {text}" for level, text in said)] if said else []


def _table(rows: Sequence[Sequence[Any]]) -> str:
    """A Markdown table of the rows that say anything; the first one is its head."""
    cells = [[_cell(value) for value in row] for row in rows]
    used = [row for row in cells if any(row)]
    if not used:
        return ""
    width = max(max((n for n, value in enumerate(row, 1) if value), default=0) for row in used)
    padded = [[*row, *[""] * width][:width] for row in used]
    lines = [f"| {' | '.join(row)} |" for row in padded]
    return "\n".join([lines[0], f"|{' --- |' * width}", *lines[1:]])


def _cell(value: Any) -> str:
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return " ".join(str(value).replace("|", "\\|").split())


def _core_title(path: Path) -> str:
    import zipfile

    from selectolax.lexbor import LexborHTMLParser

    with zipfile.ZipFile(path) as archive:
        if "docProps/core.xml" not in archive.namelist():
            return ""
        text = archive.read("docProps/core.xml").decode("utf-8", "replace")
    begin, _, rest = text.partition("<dc:title>")
    title = rest.partition("</dc:title>")[0] if rest and begin else ""
    return LexborHTMLParser(title).text().strip() if title else ""
