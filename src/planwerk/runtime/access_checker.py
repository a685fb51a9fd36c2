"""What a run may read: what the person who asks may, or what its profile was given where nobody asks (S5.3)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import TypeVar

from planwerk.access.actions import Action, Resource
from planwerk.access.authorize import allowed
from planwerk.access.ids import AccountId, TenantId
from planwerk.access.parts import principal_of
from planwerk.access.ports import Accounts
from planwerk.access.principal import Principal
from planwerk.runtime.agents import asker_of
from planwerk.runtime.execution import ExecutionContext
from planwerk.workflow.injection import injectable

ItemT = TypeVar("ItemT")


@injectable
class AccessChecker:
    """Asks `authorize` for a run. It knows the person as she is now, so what was withdrawn meanwhile counts.

    Args:
        principal: Finds the person; gives None for one who is not there any more.
        profile: The slug of the run's profile: what a run without a person reads is open to its tenant, or names
            `profile:SLUG` on its access list.
        has_person: Whether somebody stands behind the run.
    """

    def __init__(
        self,
        tenant: TenantId,
        principal: Callable[[], Awaitable[Principal | None]],
        *,
        has_person: bool,
        profile: str | None = None,
    ) -> None:
        self.tenant = tenant
        self._principal = principal
        self._has_person = has_person
        self._profile = profile

    @classmethod
    def of(cls, principal: Principal) -> AccessChecker:
        """A checker for a person that is known already."""

        async def given() -> Principal | None:
            return principal

        return cls(principal.tenant, given, has_person=True)

    async def readable(
        self, items: Sequence[ItemT], action: Action, resource: Callable[[ItemT], Resource]
    ) -> list[ItemT]:
        """Those of the items that the run may read, in their order."""
        if self._has_person:
            principal = await self._principal()
            return [item for item in items if principal is not None and allowed(principal, action, resource(item))]
        return [item for item in items if self._is_granted(resource(item))]

    def _is_granted(self, resource: Resource) -> bool:
        if resource.tenant != self.tenant:
            return False
        return resource.access is None or (self._profile is not None and f"profile:{self._profile}" in resource.access)


def access_checker_from(accounts: Accounts) -> Callable[[ExecutionContext], AccessChecker]:
    """The provider of `AccessChecker` over these accounts."""

    def provide(context: ExecutionContext) -> AccessChecker:
        opened = context.run
        asker = asker_of(opened)
        tenant = TenantId(opened.tenant)

        async def principal() -> Principal | None:
            found = await accounts.account(AccountId(str(asker.get("id"))))
            usable = found is not None and not found.disabled and found.tenant == tenant
            return principal_of(found, "local") if found is not None and usable else None

        return AccessChecker(tenant, principal, has_person=asker.get("kind") == "user", profile=opened.profile)

    return provide
