"""Decides `create_thread` and `rename_thread`.

A title has a source. A person's is never replaced but by a person; what a run suggested never by what another run
suggests; a fallback gives way to both (E7.9, C1.1).
"""

from __future__ import annotations

from typing import Final

from planwerk.access.actors import Actor
from planwerk.workspace.rules.commands import CreateThread, RenameThread
from planwerk.workspace.rules.drafting import Decision, Draft
from planwerk.workspace.rules.errors import InvalidState, TitleChanged, ValidationFailed
from planwerk.workspace.rules.events import ThreadCreated, ThreadRenamed, TitleSource
from planwerk.workspace.rules.outcomes import Recorded
from planwerk.workspace.rules.state import Key, State, ThreadEntity, ThreadKey, changed
from planwerk.workspace.rules.visibility import only_people

MAX_TITLE_CHARACTERS: Final = 200


def needs_thread(command: CreateThread | RenameThread, state: State) -> frozenset[Key]:
    return state.missing(ThreadKey(command.thread_id))


def commit_create_thread(command: CreateThread, state: State, actor: Actor) -> Decision:
    """A thread without messages."""
    only_people(actor, "create a thread")
    if state.find_thread(command.thread_id) is not None:
        raise InvalidState(
            f"thread {command.thread_id} exists already (A2.3: an id is used once).",
            what_to_do="Post to it, or make a new id.",
        )
    title = None if command.title is None else a_title(command.title, "create_thread")
    draft = Draft(state, actor)
    seq = draft.emit(ThreadCreated(title=title, profile=command.profile), thread=command.thread_id)
    draft.touch(
        ThreadEntity(
            id=command.thread_id,
            title=title,
            title_source=None if title is None else "person",
            profile=command.profile,
            creator=actor,
            created=state.now,
            updated=state.now,
            updated_seq=seq,
        )
    )
    return draft.decide(Recorded(seq=seq))


def commit_rename_thread(command: RenameThread, state: State, actor: Actor) -> Decision:
    """A title of a person's own. Where `only_if` does not hold, nothing changes."""
    only_people(actor, "rename a thread")
    thread = state.thread(command.thread_id)
    title = a_title(command.title, "rename_thread")
    if command.replaces not in (None, (thread.title, thread.title_source)):
        raise TitleChanged(thread.id, title=thread.title)
    draft = Draft(state, actor)
    untitled = thread.title_source in (None, "fallback")
    if (command.only_if is None or untitled) and (title, "person") != (thread.title, thread.title_source):
        draft.emit(ThreadRenamed(title=title, source="person"), thread=thread.id)
        draft.save(changed(thread, title=title, title_source="person"))  # a new name is no activity: lists keep order
    return draft.decide(Recorded(seq=draft.seq))


def gives_way(thread: ThreadEntity, source: TitleSource) -> bool:
    """Whether the thread's title gives way to one from this source."""
    match source:
        case "person":
            return True
        case "suggested":
            return thread.title_source in (None, "fallback")
        case "fallback":
            return thread.title_source is None


def a_title(text: str, command: str) -> str:
    """The title on one line, without blanks around it.

    Raises:
        ValidationFailed: It is empty or too long.
    """
    title = " ".join(text.split())
    if not title:
        raise ValidationFailed.of(command, "title", "a title has at least one character")
    if len(title) > MAX_TITLE_CHARACTERS:
        raise ValidationFailed.of(command, "title", f"a title has at most {MAX_TITLE_CHARACTERS} characters")
    return title


def shortened(text: str) -> str:
    """A title that a run made, on one line and short enough; empty if there is nothing in it."""
    title = " ".join(text.split())
    return title if len(title) <= MAX_TITLE_CHARACTERS else title[: MAX_TITLE_CHARACTERS - 1].rstrip() + "…"
