from __future__ import annotations

import subprocess
import sys

import pytest

import planwerk.capabilities
from planwerk.capabilities import (
    Block,
    Conversation,
    ConversationFields,
    Knowledge,
    KnowledgeFields,
    Memory,
    MemoryFields,
)


def test_the_public_names_are_these() -> None:
    names = (Block, Conversation, ConversationFields, Knowledge, KnowledgeFields, Memory, MemoryFields)

    assert planwerk.capabilities.__all__ == [
        *("Block", "Conversation", "ConversationFields", "Knowledge", "KnowledgeFields", "Memory", "MemoryFields"),
    ]
    assert [name.__name__ for name in names] == planwerk.capabilities.__all__


def test_a_name_that_is_not_there_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="Telepathy"):
        _ = planwerk.capabilities.Telepathy  # pyright: ignore[reportAttributeAccessIssue, reportUnknownVariableType, reportUnknownMemberType] - it is not there


def test_nothing_is_imported_before_it_is_used() -> None:
    code = "import sys, planwerk.capabilities; print('planwerk.capabilities.conversation' in sys.modules)"

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert done.stdout.strip() == "False"
