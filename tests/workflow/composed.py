"""A workflow of the size people build: answers from documents, with a conversation, memory, attached files, knowledge,
an expert who is asked, and a loop of tools; more than 60 steps in ten scopes (E6.4).
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

Given = dict[str, Any]

RAG: Given = {
    "request Confirm?": "Confirmed | Declined",
    "request Expert?": "ExpertReplied | ExpertFailed",
    "begin": "Start -> Ctx?",
    "gather": "Contextualized -> (Rec?, Read?)",
    "small_talk": "Contextualized -> FewShot | Search",
    "reject": "FewShot -> Rejected",
    "search": "Search -> list[Know?]",
    "found": "Search, list[Known]|None -> Nodes",
    "rank": "Nodes -> Ranked",
    "sufficiency": "Ranked -> Sufficient | Insufficient",
    "escalate": "Insufficient -> Confirm?",
    "confirmed": "Confirmed -> Expert?",
    "declined": "Declined -> Context",
    "replied": "ExpertReplied -> Context",
    "failed": "ExpertFailed -> Context",
    "sufficient": "Sufficient -> Context",
    "rejected": "Rejected -> Context",
    "assemble": "Contextualized, Recalled, Context, FilesRead|None, Nodes|None -> Compose?",
    "answer": "Composed -> Tools?",
    "too_long": "Overflow -> Answer",
    "tools_done": "ToolsFinished -> Answer",
    "tools_failed": "ToolsFailed -> Answer",
    "follow_ups": "Answer -> FollowUps (stop_on_error=False)",
    "show_follow_ups": "FollowUps -> None",
    "finish": "Contextualized, Answer -> list[Rem?|Complete?]",
    "call Ctx? -> Contextualized": {
        "load": "Ctx? -> History",
        "derive": "History -> Condense | Verbatim",
        "condense": "Condense -> Condensed | StopRefused",
        "literal": "Verbatim -> Derived",
        "rewritten": "Condensed -> Derived",
        "language": "Ctx? -> Language (stop_on_error=False)",
        "contextualized": "Derived, History, Language|None -> Contextualized",
        "title": "Contextualized -> None (stop_on_error=False)",
    },
    "call Compose? -> Composed | Overflow": {
        "count": "Compose? -> list[Block]",
        "measure": "Block -> Measured",
        "fit": "Compose?, list[Measured]|None -> Fitted | Overflow",
        "write": "Fitted -> Composed",
    },
    "call Complete? -> StopAnswered": {"check": "Complete? -> Checked", "complete": "Checked -> StopAnswered"},
    "call Rec? -> Recalled": {
        "embed": "Rec? -> Vector | NoMemory",
        "look_up": "Vector -> list[Memory]",
        "weigh": "Memory -> Weighed",
        "recalled": "Rec?, list[Weighed]|None, NoMemory|None -> Recalled",
    },
    "call Rem? -> Remembered": {"extract": "Rem? -> list[Fact]", "store": "Fact -> Stored",
                               "remembered": "Rem?, list[Stored]|None -> Remembered"},
    "note": "Remembered -> None",
    "call Read? -> FilesRead": {
        "list_files": "Read? -> list[File]",
        "convert": "File -> Text | Broken",
        "describe": "Broken -> Text",
        "read": "Read?, list[Text]|None -> FilesRead",
    },
    "call Know? -> Known": {
        "query": "Know? -> Hits | NoHits",
        "expand": "NoHits -> Know2?",
        "neighbours": "Know2 -> Hits",
        "rerank": "Hits -> Reranked",
        "filter": "Reranked -> list[Hit]",
        "access": "Hit -> Allowed | None",
        "known": "Reranked, list[Allowed]|None -> Known",
    },
    "call Know2? -> Know2": {"widen": "Know2? -> Wide", "again": "Wide -> Know2"},
    "call Tools? -> ToolsFinished | ToolsFailed": {
        "model": "Tools? | Again -> (Turn, list[Tool]) | Text2",
        "run": "Tool -> Know? | Simple | Approve?",
        "knew": "Known -> Result",
        "simple": "Simple -> Result",
        "approved": "Yes -> Result",
        "refused": "No -> Result",
        "join": "Turn, list[Result]|None -> Again | ToolsFailed",
        "text": "Text2 -> ToolsFinished",
    },
    "request Approve?": "Yes | No",
}  # fmt: skip


def with_change(change: Callable[[Given], None]) -> Given:
    """The workflow with a fault put in."""
    changed = copy.deepcopy(RAG)
    change(changed)
    return changed
