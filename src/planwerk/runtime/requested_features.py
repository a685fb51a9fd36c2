"""The chat toggles that are on for a turn (C7)."""

from __future__ import annotations

from planwerk.workflow.injection import injectable


@injectable
class RequestedFeatures(frozenset[str]):
    """Names of the features the person turned on and the blueprint supports."""

    __slots__ = ()
