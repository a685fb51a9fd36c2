"""The one handle of this room: what surfaces and commands call."""

from __future__ import annotations

from planwerk.access.account_desk import AccountDesk
from planwerk.access.key_desk import KeyDesk
from planwerk.access.parts import AccessParts
from planwerk.access.ports import Accounts
from planwerk.access.sign_in import SignIn


class AccessService(SignIn, AccountDesk, KeyDesk):
    """Accounts, keys and sessions of an installation over one port.

    It keeps no state of its own but the sign-in throttle: whoever asks gets what is stored now, so nothing of one
    request or tenant can show in another's.
    """

    @classmethod
    def over(cls, accounts: Accounts) -> AccessService:
        """The service with the machine's clock and randomness, as a running server has it."""
        return cls(AccessParts(accounts))
