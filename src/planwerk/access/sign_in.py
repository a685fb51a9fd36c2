"""From what a client shows (password, one-time token, cookie, key) to the principal it stands for."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Final

from planwerk.access.accounts import LONGEST_PASSWORD, Account, AccountChange, clean_login
from planwerk.access.errors import (
    AccountDisabled,
    InvalidAccount,
    KeyRefused,
    NotSignedIn,
    SessionEnded,
    SignInLinkExpired,
    WrongCredentials,
)
from planwerk.access.ids import AccountId, KeyId
from planwerk.access.keys import LOCAL_KEY, ApiKey, is_valid_key, key_id_of, key_matches
from planwerk.access.parts import AccessParts, principal_of
from planwerk.access.principal import Principal
from planwerk.access.sessions import Session, SessionRecord, begin_session, csrf_matches, csrf_token, is_live, slide
from planwerk.access.tokens import SignInToken, hash_secret, is_plausible, make_secret

TOUCH_EVERY: Final = timedelta(minutes=1)
"""A key's last use is kept this exactly."""


class SignIn:
    """Opens and ends sessions, and tells who stands behind a session or a key."""

    def __init__(self, parts: AccessParts) -> None:
        self._parts = parts

    async def sign_in(self, login: str, password: str, address: str) -> Session:
        """A new session for who knows the password.

        Args:
            address: Where the attempt comes from, as the server sees it; guessing is slowed down by it.

        Raises:
            WrongCredentials: Whatever is wrong, known login or not; the work done is the same.
            AccountDisabled: The password is right, and the account is disabled.
            TooManyAttempts: Not looked at; carries when to try again.
        """
        cleaned = _login_or_empty(login)
        self._parts.throttle.begin(cleaned, address, self._parts.clock())
        account = await self._parts.accounts.account_by_login(cleaned) if cleaned else None
        password_hash = None if account is None else account.password_hash
        right = await self._parts.passwords.verify(password_hash, password[: LONGEST_PASSWORD + 1])
        if account is None or not right:
            raise WrongCredentials
        self._parts.throttle.succeeded(cleaned, address, self._parts.clock())
        if account.disabled:
            raise AccountDisabled
        return await self._open(await self._with_todays_hash(account, password))

    async def issue_local_token(self) -> str:
        """A fresh one-time token that signs in the local owner; earlier ones are worth nothing from now on.

        Raises:
            AccountDisabled: The local owner may not sign in any more.
        """
        owner = await self._local_owner()
        token = make_secret(self._parts.entropy)
        expires = self._parts.clock() + self._parts.sign_in_token_life
        await self._parts.accounts.put_sign_in_token(SignInToken(hash_secret(token), owner.id, expires))
        return token

    async def sign_in_with_token(self, token: str) -> Session:
        """A new session for the first who shows a one-time token.

        Raises:
            SignInLinkExpired: It is used, replaced, too old, or none at all.
            AccountDisabled: Its account may not sign in any more.
        """
        if not is_plausible(token):
            raise SignInLinkExpired
        taken = await self._parts.accounts.take_sign_in_token(hash_secret(token), self._parts.clock())
        account = None if taken is None else await self._parts.accounts.account(taken)
        if account is None:
            raise SignInLinkExpired
        if account.disabled:
            raise AccountDisabled
        return await self._open(account)

    async def principal_of_session(self, token: str) -> Principal:
        """Who stands behind a cookie; using a session moves its end.

        Raises:
            SessionEnded: It expired, was closed, is none, or its account is disabled.
        """
        if not is_plausible(token):
            raise SessionEnded
        record, account = await self._live_session(hash_secret(token))
        moved = slide(record, self._parts.clock(), self._parts.session_limits)
        if moved is not None:
            await self._parts.accounts.extend_session(moved)
        return principal_of(account, "session", record.hash)

    async def principal_of_key(self, text: str) -> Principal:
        """Who stands behind an API key, narrowed to its scopes.

        Raises:
            KeyRefused: Unknown, expired, revoked, or its account is disabled.
        """
        if not is_plausible(text):
            raise KeyRefused
        key = await self._matching_key(text)
        if key is None:
            raise KeyRefused
        principal = await self._principal_of(key)
        now = self._parts.clock()
        if key.last_used is None or now - key.last_used >= TOUCH_EVERY:
            await self._parts.accounts.touch_key(key.id, now)
        return principal

    async def local_principal(self) -> Principal:
        """The local owner, for commands that run in the process that opened the data.

        Raises:
            NotSignedIn: There is no installation yet.
            AccountDisabled: The local owner may not sign in any more.
        """
        return principal_of(await self._local_owner(), "local")

    async def recheck(self, principal: Principal) -> Principal:
        """The principal as it is now: for streams and sockets that stay open while rights change (S5.2).

        Whoever holds a stream open asks `authorize` again with the answer. It does not count as use of a session.

        Raises:
            NotSignedIn: The session or key it came with is worth nothing any more.
        """
        match principal.via:
            case "session":
                record, account = await self._live_session(principal.credential)
                return principal_of(account, "session", record.hash)
            case "key":
                key = await self._parts.accounts.key(KeyId(principal.credential))
                if key is None:
                    raise KeyRefused
                return await self._principal_of(key)
            case "local":
                return await self.local_principal()

    async def sign_out(self, token: str) -> None:
        """End the session; one that is over already is none to end."""
        await self._parts.accounts.end_session(hash_secret(token))

    def csrf(self, token: str) -> str:
        """The CSRF token of the session with this token."""
        return csrf_token(token)

    def csrf_matches(self, token: str, sent: str | None) -> bool:
        """Whether what the client sent is the CSRF token of its session."""
        return csrf_matches(token, sent)

    async def _open(self, account: Account) -> Session:
        now = self._parts.clock()
        token = make_secret(self._parts.entropy)
        record = begin_session(hash_secret(token), account.id, now, self._parts.session_limits)
        await self._parts.accounts.purge(now)
        await self._parts.accounts.put_session(record)
        current = await self._enabled(account.id)
        if current is None or current.password_hash != account.password_hash:
            await self.sign_out(token)  # the rights were withdrawn between the check and the session
            raise SessionEnded
        return Session(token, csrf_token(token), principal_of(current, "session", record.hash), record.expires)

    async def _live_session(self, token_hash: str) -> tuple[SessionRecord, Account]:
        record = await self._parts.accounts.session(token_hash)
        if record is None or not is_live(record, self._parts.clock()):
            raise SessionEnded
        account = await self._enabled(record.account)
        if account is None:
            raise SessionEnded
        return record, account

    async def _matching_key(self, text: str) -> ApiKey | None:
        """The stored key that this text is: by its prefix, else the local key, which may be any text."""
        for key_id in dict.fromkeys((key_id_of(text), LOCAL_KEY)):
            key = await self._parts.accounts.key(key_id)
            if key is not None and key_matches(key, text):
                return key
        return None

    async def _principal_of(self, key: ApiKey) -> Principal:
        account = await self._enabled(key.account)
        if account is None or not is_valid_key(key, self._parts.clock()):
            raise KeyRefused
        return principal_of(account, "key", key.id, key.scopes)

    async def _enabled(self, account: AccountId) -> Account | None:
        found = await self._parts.accounts.account(account)
        return None if found is None or found.disabled else found

    async def _local_owner(self) -> Account:
        owner = await self._parts.accounts.local_owner()
        if owner is None:
            raise NotSignedIn("There is no installation here yet (S1.1).", what_to_do="Run 'planwerk serve' once.")
        if owner.disabled:
            raise AccountDisabled
        return owner

    async def _with_todays_hash(self, account: Account, password: str) -> Account:
        """The account, its password hashed anew if the stored hash is of another cost than today's."""
        old = account.password_hash
        if old is None or not self._parts.passwords.needs_rehash(old):
            return account
        renewed = await self._parts.passwords.hash(password)

        def renew(stored: Account, other_owners: int) -> AccountChange:
            return AccountChange(replace(stored, password_hash=renewed) if stored.password_hash == old else stored)

        return await self._parts.accounts.change_account(account.id, renew) or account


def _login_or_empty(text: str) -> str:
    """The cleaned login; what cannot be one is nobody's, and is refused as any wrong login is."""
    try:
        return clean_login(text)
    except InvalidAccount:
        return ""
