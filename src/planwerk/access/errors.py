"""What this room refuses, each with the HTTP status a surface answers with.

PlanwerkError
└── AccessError
    ├── NotSignedIn              401  no valid session and no valid key
    │   ├── SessionEnded              the session expired, was closed, or was never ours
    │   ├── KeyRefused                the API key is unknown, expired or revoked
    │   ├── WrongCredentials          login and password do not belong together
    │   ├── SignInLinkExpired         the one-time link was used, or is too old
    │   └── AccountDisabled           the account may not sign in any more
    ├── Forbidden                403  seen, but not allowed
    │   ├── OutOfScope                the key's scopes leave it out
    │   └── CsrfRefused               a write by cookie without the session's CSRF token
    ├── NotFound                 404  not there, or not to be seen: nobody can tell which (S5.2)
    ├── InvalidAccount           422  a login, name, locale, password or key is not acceptable
    ├── LoginTaken               409
    ├── LastOwner                409  the change would leave a tenant without an owner
    └── TooManyAttempts          429  sign-in is slowed down
"""

from __future__ import annotations

from planwerk.workflow.errors import PlanwerkError


class AccessError(PlanwerkError):
    """Access was refused."""

    code = "access_refused"
    http_status = 403


class NotSignedIn(AccessError):
    """Nobody is signed in, so nothing but public things can be asked for."""

    code = "not_signed_in"
    http_status = 401

    def __init__(
        self,
        message: str = "Nobody is signed in (S5.1).",
        *,
        what_to_do: str = "Sign in, or send an API key as 'Authorization: Bearer …'.",
    ) -> None:
        super().__init__(message, what_to_do=what_to_do)


class SessionEnded(NotSignedIn):
    """The session is over, or there never was one with this token."""

    code = "session_ended"

    def __init__(self) -> None:
        super().__init__("The session has ended (S5.1).", what_to_do="Sign in again.")


class KeyRefused(NotSignedIn):
    """No valid API key: unknown, expired or revoked. Which of them is not told."""

    code = "key_refused"

    def __init__(self) -> None:
        super().__init__(
            "The API key is not valid: it is unknown, expired or revoked (S5.1).",
            what_to_do="Make a new one with 'planwerk keys create', or use the one that 'planwerk serve' printed.",
        )


class WrongCredentials(NotSignedIn):
    """Login and password do not belong together; whether the login exists is not told."""

    code = "wrong_credentials"

    def __init__(self) -> None:
        super().__init__("Login or password is wrong (S5.1).", what_to_do="Check both and try again.")


class SignInLinkExpired(NotSignedIn):
    """A one-time token was used before, was replaced by a newer one, or is too old."""

    code = "sign_in_link_expired"

    def __init__(self) -> None:
        super().__init__(
            "This sign-in link was used already or is too old (S5.1: one use, for a short time).",
            what_to_do="Use the newest link that 'planwerk serve' printed; restarting it prints a fresh one.",
        )


class AccountDisabled(NotSignedIn):
    """The account exists and may not be used; told only to who proved to be its person."""

    code = "account_disabled"

    def __init__(self) -> None:
        super().__init__("This account is disabled (S5.1).", what_to_do="Ask an owner or admin to enable it.")


class Forbidden(AccessError):
    """The principal sees the resource, but may not do this to it."""

    code = "forbidden"

    def __init__(self, action: str, kind: str, *, what_to_do: str = "Ask an owner or admin of your tenant.") -> None:
        super().__init__(f"You may not do {action!r} on this {kind} (S5.2: denied by default).", what_to_do=what_to_do)
        self.action, self.kind = action, kind


class OutOfScope(Forbidden):
    """The account may, its API key may not: scopes narrow."""

    code = "out_of_scope"

    def __init__(self, action: str, kind: str) -> None:
        super().__init__(action, kind, what_to_do=f"Use a key whose scopes include {action!r}, or sign in.")


class CsrfRefused(AccessError):
    """A write came with a session cookie but without that session's CSRF token, so a foreign page may have sent it."""

    code = "csrf_refused"

    def __init__(self) -> None:
        super().__init__(
            "The request changes something but does not carry this session's CSRF token (S5.1).",
            what_to_do="Send the 'csrf' of GET /api/session in the header X-CSRF-Token, or use an API key.",
        )


class NotFound(AccessError):
    """There is no such thing for this principal; a foreign one gives the same words (S5.2)."""

    code = "not_found"
    http_status = 404

    def __init__(self, kind: str, name: str) -> None:
        kind = kind.removeprefix("admin_")  # which workspace is the admins' is not told either
        super().__init__(
            f"There is no {kind} {name[:80]!r} here (S5.2).",
            what_to_do="Check the id, and that you are signed in to the right account.",
        )
        self.kind, self.name = kind, name


class InvalidAccount(AccessError):
    """A login, name, locale, role, password or key is not acceptable."""

    code = "invalid_account"
    http_status = 422

    def __init__(self, field: str, message: str, *, what_to_do: str) -> None:
        super().__init__(message, what_to_do=what_to_do)
        self.field = field


class LoginTaken(AccessError):
    """Another account has this login; logins are compared without regard to case."""

    code = "login_taken"
    http_status = 409

    def __init__(self, login: str) -> None:
        super().__init__(f"The login {login!r} is taken (S5.1: one account a login).", what_to_do="Choose another.")
        self.login = login


class LastOwner(AccessError):
    """The change would leave the tenant without an owner who can sign in."""

    code = "last_owner"
    http_status = 409

    def __init__(self, login: str) -> None:
        super().__init__(
            f"{login!r} is the last owner of this tenant, and a tenant keeps one (S5.2).",
            what_to_do="Give another account the role owner first.",
        )
        self.login = login


class TooManyAttempts(AccessError):
    """Sign-in is slowed down for this login or address; it opens again by itself."""

    code = "too_many_attempts"
    http_status = 429

    def __init__(self, retry_after_seconds: int) -> None:
        super().__init__(
            "Too many attempts to sign in (S5.4).", what_to_do=f"Try again in {retry_after_seconds} seconds."
        )
        self.retry_after_seconds = retry_after_seconds
