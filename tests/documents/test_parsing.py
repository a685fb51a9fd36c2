"""Every kind of document becomes text with its places; every hostile one becomes a reason (C3.1, C4.3)."""

from __future__ import annotations

import sys
from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from planwerk.documents.errors import (
    BrokenDocument,
    DocumentError,
    DocumentTooHard,
    DocumentTooLarge,
    EmptyDocument,
    EncryptedDocument,
    UnsupportedDocument,
)
from planwerk.documents.limits import ParseLimits
from planwerk.documents.parsed import ParsedDocument
from planwerk.documents.parsing import Parser
from tests.documents.making import write_bomb, write_docx, write_mail, write_pdf, write_pptx, write_xlsx

PAGES = (["Reisekosten", "Die Höhe der Pauschale ist 28 Euro."], ["Zweite Seite", "Anträge gehen an die Buchhaltung."])


@pytest.fixture
async def parser() -> AsyncGenerator[Parser]:
    parser = Parser(at_once=1)
    yield parser
    await parser.close()


def placed(document: ParsedDocument) -> list[tuple[str, int, str, str]]:
    """Each place with what stands there."""
    return [(place.kind, place.number, place.name, document.text[place.start : place.end]) for place in document.places]


async def test_a_pdf_is_text_by_pages(parser: Parser, tmp_path: Path) -> None:
    file = write_pdf(tmp_path / "upload", PAGES, title="Spesen")

    read = await parser.parse(file, "spesen.pdf")

    assert (read.kind, read.title) == ("pdf", "Spesen")
    assert placed(read) == [
        ("page", 1, "", "Reisekosten\nDie Höhe der Pauschale ist 28 Euro."),
        ("page", 2, "", "Zweite Seite\nAnträge gehen an die Buchhaltung."),
    ]
    assert read.places_of(0, 5) == read.places[:1]
    assert read.places_of(0, len(read.text)) == read.places


async def test_a_word_that_a_line_break_parts_is_joined(parser: Parser, tmp_path: Path) -> None:
    read = await parser.parse(write_pdf(tmp_path / "a", [["Die Kündigungs-", "frist beträgt drei Monate."]]), "a.pdf")

    assert read.text == "Die Kündigungsfrist beträgt drei Monate."


async def test_a_word_document_keeps_headings_and_has_its_title(parser: Parser, tmp_path: Path) -> None:
    file = write_docx(
        tmp_path / "x", [("Heading1", "Urlaub"), ("", "30 Tage & mehr."), ("Heading2", "Antrag")], title="Ordnung & Co"
    )

    read = await parser.parse(file, "anything.pdf")  # what it is decides, not what it is called

    assert (read.kind, read.title) == ("docx", "Ordnung & Co")
    assert read.text == "# Urlaub\n\n30 Tage & mehr.\n\n## Antrag"


async def test_a_presentation_is_text_by_slides(parser: Parser, tmp_path: Path) -> None:
    file = write_pptx(tmp_path / "x", [("Ziele", ["Mehr Ruhe", "Weniger Lärm"]), ("Zahlen", ["Zwölf"])])

    read = await parser.parse(file, "x.pptx")

    assert placed(read) == [
        ("slide", 1, "", "## Ziele\n\n- Mehr Ruhe\n- Weniger Lärm"),
        ("slide", 2, "", "## Zahlen\n\nZwölf"),
    ]


async def test_a_workbook_is_tables_by_sheets(parser: Parser, tmp_path: Path) -> None:
    file = write_xlsx(tmp_path / "x", [("Preise", [["Teil", "Preis"], ["Öl|Fett", 12.5], ["Luft", 3]]), ("Leer", [])])

    read = await parser.parse(file, "x.xlsx")

    assert placed(read) == [
        ("sheet", 1, "Preise", "## Preise\n\n| Teil | Preis |\n| --- | --- |\n| Öl\\|Fett | 12.5 |\n| Luft | 3 |")
    ]


async def test_a_page_is_what_is_read_on_it(parser: Parser, tmp_path: Path) -> None:
    file = tmp_path / "x"
    file.write_text(
        "<!DOCTYPE html><title> Die  Seite </title><nav>Menü</nav><script>evil()</script><h1>Titel</h1>"
        '<p>Ein <b>Satz</b>.</p><div hidden>nie</div><img src="data:image/png;base64,AAAA">'
        "<table><tr><th>a</th></tr><tr><td>1</td></tr></table>",
        encoding="utf-8",
    )

    read = await parser.parse(file, "x.txt")

    assert (read.kind, read.title) == ("html", "Die Seite")
    assert read.text == "# Titel\n\nEin **Satz**.\n\n| a |\n| --- |\n| 1 |"


async def test_a_page_in_another_encoding_says_so(parser: Parser, tmp_path: Path) -> None:
    file = tmp_path / "x"
    file.write_bytes('<html><meta charset="iso-8859-2"><p>Łódź</p></html>'.encode("iso-8859-2"))

    assert (await parser.parse(file, "x")).text == "Łódź"


async def test_a_mail_is_its_headers_its_words_and_the_names_of_its_attachments(parser: Parser, tmp_path: Path) -> None:
    file = write_mail(tmp_path / "x", "Überstunden", "Bitte bis Freitag.", html="<p>anders</p>", attachment="plan.zip")

    read = await parser.parse(file, "x.eml")

    assert (read.kind, read.title) == ("email", "Überstunden")
    assert read.text.splitlines()[0] == "# Überstunden"
    assert "From: Ada <ada@example.org>" in read.text
    assert "Bitte bis Freitag." in read.text
    assert "plan.zip" in read.text
    assert "anders" not in read.text


@pytest.mark.parametrize(
    ("data", "text"),
    [
        ("Grüße".encode(), "Grüße"),
        ("Grüße".encode("utf-8-sig"), "Grüße"),
        ("Grüße".encode("utf-16"), "Grüße"),
        ("Grüße – „ja“".encode("cp1252"), "Grüße – „ja“"),
        (b"one\r\ntwo\rthree", "one\ntwo\nthree"),
    ],
)
async def test_text_is_decoded_by_what_it_is(parser: Parser, tmp_path: Path, data: bytes, text: str) -> None:
    file = tmp_path / "x"
    file.write_bytes(data)

    assert (await parser.parse(file, "x.txt")).text == text


async def test_markdown_has_the_title_of_its_front_matter_or_heading(parser: Parser, tmp_path: Path) -> None:
    file = tmp_path / "x"
    file.write_text("---\ntitle: 'Vorne'\n---\n# Oben\n")
    headed = tmp_path / "y"
    headed.write_text("Vorwort\n\n# Oben #\n")

    assert (await parser.parse(file, "a.md")).title == "Vorne"
    assert (await parser.parse(headed, "a.md")).title == "Oben"
    assert (await parser.parse(headed, "a.txt")).kind == "text"


async def test_half_a_character_in_a_file_is_no_fault(parser: Parser, tmp_path: Path) -> None:
    file = tmp_path / "x"
    file.write_bytes(b"<html><p>ok &#xD83D; done \xed\xa0\xbd</p></html>")  # SRV-25

    read = await parser.parse(file, "x.html")

    read.text.encode("utf-8")
    assert read.text.startswith("ok ")
    assert "done" in read.text


def hostile(kind: str, folder: Path) -> Path:
    file = folder / "x"
    match kind:
        case "empty":
            file.write_bytes(b"")
        case "blank":
            file.write_text(" \n\t\n")
        case "scan":
            write_pdf(file, [[], []])
        case "binary":
            file.write_bytes(bytes(range(256)) * 8)
        case "image":
            file.write_bytes(bytes.fromhex("89504e470d0a1a0a0000000d49484452") + b"\0" * 64)
        case "rtf":
            file.write_text("{\\rtf1 hello}")
        case "archive":
            write_docx(file, [])
            file.write_bytes(file.read_bytes().replace(b"word/document.xml", b"word/document.xyz"))
        case "broken pdf":
            file.write_bytes(b"%PDF-1.7\nnothing of the kind")
        case "cut docx":
            write_docx(file, [("", "words " * 500)])
            file.write_bytes(file.read_bytes()[:700])
        case "odd docx":
            write_docx(file, [("", "MARK")])
            file.write_bytes(file.read_bytes().replace(b"word/styles.xml", b"word/styles.abc"))
        case "locked pdf":
            write_pdf(file, PAGES, encrypted=True)
        case "locked docx":
            file.write_bytes(bytes.fromhex("d0cf11e0a1b11ae1") + b"\0" * 600 + "EncryptedPackage".encode("utf-16-le"))
        case "old doc":
            file.write_bytes(bytes.fromhex("d0cf11e0a1b11ae1") + b"\0" * 600)
        case "bomb":
            write_bomb(file)
        case _:
            raise AssertionError(kind)
    return file


@pytest.mark.parametrize(
    ("kind", "refused", "said"),
    [
        ("empty", EmptyDocument, "empty"),
        ("blank", EmptyDocument, "no text"),
        ("scan", EmptyDocument, "no text in the PDF"),
        ("binary", UnsupportedDocument, "no text"),
        ("image", UnsupportedDocument, "no text"),
        ("rtf", UnsupportedDocument, "Rich Text"),
        ("archive", UnsupportedDocument, "archive"),
        ("broken pdf", BrokenDocument, "damaged"),
        ("cut docx", BrokenDocument, "damaged"),
        ("locked pdf", EncryptedDocument, "password"),
        ("locked docx", EncryptedDocument, "password"),
        ("old doc", UnsupportedDocument, "old Office"),
        ("bomb", DocumentTooLarge, "unpacks to 64.0 MiB"),
    ],
)
async def test_a_hostile_file_is_refused_with_a_reason(
    parser: Parser, tmp_path: Path, kind: str, refused: type[DocumentError], said: str
) -> None:
    with pytest.raises(refused) as caught:
        await parser.parse(hostile(kind, tmp_path), "x")

    assert said in caught.value.message
    assert caught.value.what_to_do


async def test_a_file_over_the_limit_is_not_read(tmp_path: Path) -> None:
    parser = Parser(ParseLimits(file_bytes=10))
    file = tmp_path / "x"
    file.write_text("more than ten")

    with pytest.raises(DocumentTooLarge, match="10 bytes is the limit"):
        await parser.parse(file, "x")
    await parser.close()


async def test_a_text_over_the_limit_is_refused(tmp_path: Path) -> None:
    parser = Parser(ParseLimits(characters=5))
    file = tmp_path / "x"
    file.write_text("abcdef")

    with pytest.raises(DocumentTooLarge, match="6 characters"):
        await parser.parse(file, "x")
    await parser.close()


async def test_a_reader_that_swells_ends_and_the_next_file_is_read(tmp_path: Path) -> None:
    parser = Parser(ParseLimits(memory_bytes=64 * 1_048_576), at_once=1)
    swelling, next_one = tmp_path / "swelling", tmp_path / "next"
    swelling.write_text("words " * 7_000_000)
    next_one.write_text("Fine.")

    with pytest.raises(DocumentTooHard):
        await parser.parse(swelling, "x.txt")
    read = await parser.parse(next_one, "x.txt")

    assert read.text == "Fine."
    await parser.close()


async def test_a_reader_that_hangs_is_stopped(tmp_path: Path) -> None:
    deaf = tmp_path / "deaf"
    deaf.write_text(f"#!{sys.executable}\nimport signal\nsignal.pause()\n")
    deaf.chmod(0o755)
    parser = Parser(ParseLimits(seconds=0.05), python=str(deaf))
    file = tmp_path / "x"
    file.write_text("Fine.")

    with pytest.raises(DocumentTooHard, match=r"longer than 0\.05 s"):
        await parser.parse(file, "x.txt")
    await parser.close()


async def test_a_reader_that_dies_is_a_file_that_failed(tmp_path: Path) -> None:
    parser = Parser(python="/bin/false")
    file = tmp_path / "x"
    file.write_text("Fine.")

    with pytest.raises(DocumentTooHard, match="ended the process"):
        await parser.parse(file, "x.txt")
    await parser.close()


async def test_a_reader_has_no_secrets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PLANWERK_API_KEY", "pw_secret")
    telling = tmp_path / "telling"
    telling.write_text(
        f"#!{sys.executable}\nimport json, os, sys\nsys.stdin.readline()\n"
        "text = ' '.join(os.environ)\n"
        "print(json.dumps({'document': {'kind': 'text', 'text': text, 'title': '', 'places': []}}), flush=True)\n"
    )
    telling.chmod(0o755)
    parser = Parser(python=str(telling))
    file = tmp_path / "x"
    file.write_text("Fine.")

    read = await parser.parse(file, "x.txt")

    assert "PATH" in read.text
    assert "PLANWERK_API_KEY" not in read.text
    await parser.close()
