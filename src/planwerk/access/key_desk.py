"""Making and revoking API keys. Routes ask `authorize` first, with `key_resource`; nothing here asks again."""

from __future__ import annotations

from datetime import datetime

from planwerk.access.accounts import clean_name
from planwerk.access.actions import Action
from planwerk.access.errors import AccountDisabled, InvalidAccount, NotFound, NotSignedIn
from planwerk.access.ids import AccountId, KeyId, TenantId
from planwerk.access.keys import LOCAL_KEY, ApiKey, NewKey, check_fixed_key, make_key_text, narrow
from planwerk.access.parts import AccessParts, account_in
from planwerk.access.principal import Principal
from planwerk.access.tokens import hash_secret


class KeyDesk:
    """API keys of one installation."""

    def __init__(self, parts: AccessParts) -> None:
        self._parts = parts

    async def create_key(
        self,
        maker: Principal,
        name: str,
        *,
        account: AccountId | None = None,
        scopes: frozenset[Action] | None = None,
        expires: datetime | None = None,
    ) -> NewKey:
        """A new key, whose text is known only now.

        Args:
            account: Whose key it is; the maker's own where it is left out.
            scopes: What it is narrowed to; never more than the maker's own key has. None: all its account may do.
            expires: From when on it is refused; None: never.

        Raises:
            InvalidAccount: The name is no name, or the key would have expired already.
            NotFound: There is no such account in the maker's tenant.
        """
        now = self._parts.clock()
        if expires is not None and expires <= now:
            raise InvalidAccount(
                "expires", "The key would have expired already.", what_to_do="Take a time that is still to come."
            )
        holder = await account_in(self._parts, maker.tenant, account or maker.account)
        key_id, text = make_key_text(self._parts.entropy)
        key = ApiKey(
            id=key_id,
            tenant=holder.tenant,
            account=holder.id,
            name=clean_name(name),
            hash=hash_secret(text),
            created=now,
            scopes=narrow(scopes, maker.scopes),
            expires=expires,
        )
        await self._parts.accounts.put_key(key)
        return NewKey(key, text)

    async def set_local_key(self, text: str | None = None) -> NewKey:
        """The local owner's key that `planwerk serve` prints; the one before it is worth nothing from now on.

        Args:
            text: A fixed key that the operator chose; None makes a fresh one.

        Raises:
            InvalidAccount: The text cannot be sent in a header.
            AccountDisabled: The local owner may not be used any more.
            NotSignedIn: There is no installation yet.
        """
        owner = await self._parts.accounts.local_owner()
        if owner is None:
            raise NotSignedIn("There is no installation here yet (S1.1).", what_to_do="Run 'planwerk serve' once.")
        if owner.disabled:
            raise AccountDisabled
        text = make_key_text(self._parts.entropy, LOCAL_KEY)[1] if text is None else check_fixed_key(text)
        key = ApiKey(
            id=LOCAL_KEY,
            tenant=owner.tenant,
            account=owner.id,
            name="Printed at start",
            hash=hash_secret(text),
            created=self._parts.clock(),
        )
        await self._parts.accounts.put_key(key)
        return NewKey(key, text)

    async def list_keys(self, tenant: TenantId, account: AccountId | None = None) -> list[ApiKey]:
        """The tenant's keys, or those of one of its accounts, oldest first; revoked and expired ones too."""
        return await self._parts.accounts.keys(tenant, account)

    async def key(self, tenant: TenantId, key: KeyId) -> ApiKey:
        """One key of the tenant.

        Raises:
            NotFound: There is none, or it is another tenant's.
        """
        found = await self._parts.accounts.key(key)
        if found is None or found.tenant != tenant:
            raise NotFound("key", key)
        return found

    async def revoke_key(self, tenant: TenantId, key: KeyId) -> ApiKey:
        """Refuse the key from now on; doing it twice is doing it once.

        Raises:
            NotFound: There is no such key in the tenant.
        """
        await self._parts.accounts.revoke_key((await self.key(tenant, key)).id, self._parts.clock())
        return await self.key(tenant, key)
