"""What the memory refuses.

PlanwerkError
└── MemoryRefused
    ├── MemoryScopeInvalid       memories are somebody's, by account or namespace; nobody and everybody are neither
    ├── MemoryTextInvalid        blank, or too long
    ├── MemoryFull               a scope holds as many as it may
    └── NamespaceNotAllowed      a blueprint asks for a namespace that its profile does not allow
"""

from __future__ import annotations

from collections.abc import Iterable

from planwerk.workflow.errors import PlanwerkError


class MemoryRefused(PlanwerkError):
    """The memory was not read or not changed."""

    code = "memory_refused"
    http_status = 422


class MemoryScopeInvalid(MemoryRefused):
    """Memories belong to one account, or to one namespace of an organisation; nothing was read or changed (CAP-13)."""

    code = "memory_scope_invalid"

    def __init__(self, kind: str, owner: object) -> None:
        named = "an account" if kind == "user" else "a namespace"
        super().__init__(
            f"{owner!r:.80} does not name {named}, so it has no memories (C2.3).",
            what_to_do=(
                "Give the account's id; there is no way to ask for everybody's memories at once."
                if kind == "user"
                else "Name a namespace: at most 64 letters, digits, `.`, `_` and `-`, a letter or digit first."
            ),
        )


class MemoryTextInvalid(MemoryRefused):
    """What is to be remembered is blank, or too long."""

    code = "memory_text_invalid"

    def __init__(self, characters: int, most: int) -> None:
        said = "is blank" if not characters else f"has {characters} characters, and {most} is the limit"
        super().__init__(f"the text to be remembered {said} (C2.3).", what_to_do="Write what is to be known, shortly.")


class MemoryFull(MemoryRefused):
    """A person or a namespace has as many memories as there may be; nothing was added."""

    code = "memory_full"
    http_status = 409

    def __init__(self, most: int) -> None:
        super().__init__(
            f"there are {most} memories already, which is the limit (C2.3).",
            what_to_do="Delete what is not needed any more; then new things are remembered again.",
        )
        self.most = most


class NamespaceNotAllowed(MemoryRefused):
    """A blueprint asks for a namespace of the organisation's memory that its profile does not allow (C2.1)."""

    code = "namespace_not_allowed"
    http_status = 403

    def __init__(self, asked: Iterable[str], allowed: Iterable[str]) -> None:
        named = ", ".join(sorted(asked))
        listed = ", ".join(sorted(allowed)) or "none"
        super().__init__(
            f"the profile does not allow its runs to read the memory of {named} (C2.1); it allows {listed}.",
            what_to_do="Add the namespace to the profile's field `namespaces`, or ask for one that is there.",
        )
