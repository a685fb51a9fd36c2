"""Half a character never gets into the store, and whole ones are never touched (SRV-25)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic_ai.messages import ModelResponse, TextPart, ToolCallPart

from planwerk.workflow.ids import MessageId
from planwerk.workspace import MarkdownArtifact
from planwerk.workspace.rules.commands import CreateArtifact, EditArtifact, RenameThread, TextEdit
from planwerk.workspace.rules.events import FileRef
from planwerk.workspace.rules.text import whole, whole_text
from tests.workspace.world import TENANT, World, artifact_id, ended, post_of, reply, started, texts_of, titled

HALF = "ok \ud83d done 😀"
MENDED = "ok \ufffd done 😀"


@pytest.mark.parametrize(
    ("text", "mended"),
    [
        (HALF, MENDED),
        ("\ude00", "\ufffd"),
        ("a\ud83d\ud83d\ude00b", "a\ufffd😀b"),
        ("\ud83d\ude00", "😀"),
        ("nul\0inside", "nul\ufffdinside"),
        ("nul\0 😀", "nul\ufffd 😀"),
        ("plain", "plain"),
        ("Grüße 😀", "Grüße 😀"),
    ],
)
def test_halves_are_replaced_and_the_rest_is_kept(text: str, mended: str) -> None:
    assert whole_text(text) == mended


@given(st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"])))
def test_whole_text_is_untouched(text: str) -> None:
    assert whole_text(text) == text


@given(st.lists(st.integers(0, 0x10FFFF).map(chr)).map("".join))
def test_mended_text_can_always_be_written(text: str) -> None:
    mended = whole_text(text)

    assert mended.encode().decode() == mended
    assert whole_text(mended) == mended


def test_texts_are_mended_wherever_they_are_inside() -> None:
    assert whole({HALF: [HALF, {"x": (HALF, 3)}], "n": None}) == {MENDED: [MENDED, {"x": (MENDED, 3)}], "n": None}


async def test_a_message_is_the_same_in_store_stream_and_request(stored_world: World) -> None:
    world = stored_world
    command = post_of(world.thread, HALF).model_dump() | {
        "content": HALF,
        "files": [{"id": "f1", "name": HALF}],
        "start": {"note": HALF},
    }
    post = type(post_of(world.thread, "x")).model_validate(command)

    await world.alice.send(post)

    posted, requested = [e.to_wire(TENANT)["data"] for e in (await world.log())[-2:]]
    message = (await world.alice.thread(world.thread)).messages[-1]
    assert (posted["content"], posted["files"][0]["name"], requested["start"]) == (MENDED, MENDED, {"note": MENDED})
    assert (message.content, message.files) == (MENDED, (FileRef(id="f1", name=MENDED),))
    assert texts_of(await world.alice.history(post.message_id)) == [MENDED]


async def test_titles_and_replies_are_mended(stored_world: World) -> None:
    world = stored_world
    _, run = await world.post("hello")
    turn = [
        ModelResponse(parts=[TextPart(HALF), ToolCallPart("note", {"text": HALF}, "call-1")], timestamp=world.clock())
    ]

    await world.record(run, started(run), titled(HALF), reply(run, HALF), ended(run), turn=turn)
    suggested = (await world.alice.thread(world.thread)).title
    await world.alice.send(RenameThread(thread_id=world.thread, title=f"my {HALF}"))

    thread = await world.alice.thread(world.thread)
    assert (suggested, thread.title, thread.messages[-1].content) == (MENDED, f"my {MENDED}", MENDED)
    answer = (await world.alice.history(MessageId(run)))[-1]
    assert answer.parts[0] == TextPart(MENDED)
    assert isinstance(answer.parts[1], ToolCallPart)
    assert answer.parts[1].args == {"text": MENDED}


async def test_artifacts_are_mended(stored_world: World) -> None:
    world, artifact = stored_world, artifact_id()

    await world.alice.send(CreateArtifact(artifact_id=artifact, artifact_type="markdown", data={"text": HALF}))
    edit = EditArtifact(artifact_id=artifact, base_version=1, text_edits=(TextEdit(old="done", new=HALF),))
    await world.alice.send(edit)

    text = (await world.alice.artifact(MarkdownArtifact, artifact)).data.text
    assert text == MENDED.replace("done", MENDED)
