"""The one question of access: may this principal do this to that? (S5.2)

Every route, stream, tool and resource asks `authorize` and nothing else. It denies by default: an action is allowed
only by a row of `RULES`, for the kinds named there. A row says for each relation to the resource which roles may:

- `anyone`: every principal of the resource's tenant;
- `granted`: a principal on the access list of the profile or collection, or any where it has none;
- `member`: an account the resource is shared with;
- `owner`: the account whose it is.

The order of the answers is what keeps foreign things hidden. Nobody signed in is 401 before anything is looked at.
Another tenant's resource, one that does not exist, and one the principal may not even read are the same 404. Only what
can be seen is ever refused with 403. A key's scopes narrow what its account may do and never add to it; what could
widen them again (passwords, accounts) is refused to any narrowed key, whatever its scopes say.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from planwerk.access.actions import Action, Resource, ResourceKind, Role
from planwerk.access.errors import Forbidden, NotFound, NotSignedIn, OutOfScope
from planwerk.access.principal import Principal

Relation: TypeAlias = Literal["anyone", "granted", "member", "owner"]
Roles: TypeAlias = frozenset[Role]

ALL: Final[Roles] = frozenset(Role)
BUILDERS: Final[Roles] = frozenset({Role.OWNER, Role.ADMIN, Role.BUILDER})
ADMINS: Final[Roles] = frozenset({Role.OWNER, Role.ADMIN})


@dataclass(frozen=True, slots=True)
class Rule:
    """One action on some kinds of resources: which roles may, by relation to the resource."""

    kinds: frozenset[ResourceKind]
    who: Mapping[Relation, Roles]
    public: bool = False
    """Allowed to anybody, signed in or not."""
    whole_account: bool = False
    """Refused to keys with scopes, because it could widen them."""


def _rule(*kinds: ResourceKind, public: bool = False, whole_account: bool = False, **who: Roles) -> Rule:
    relations: dict[Relation, Roles] = {}
    for relation in ("anyone", "granted", "member", "owner"):
        if relation in who:
            relations[relation] = who[relation]
    return Rule(frozenset(kinds), relations, public, whole_account)


RULES: Final[Mapping[Action, tuple[Rule, ...]]] = {
    Action.SERVER_READ: (_rule("server", public=True, anyone=ALL),),
    Action.SERVER_MANAGE: (_rule("server", whole_account=True, anyone=ADMINS),),
    Action.V1_USE: (_rule("tenant", anyone=ALL),),
    Action.ACCOUNT_READ: (_rule("account", anyone=ADMINS, owner=ALL), _rule("tenant", anyone=ADMINS)),
    Action.ACCOUNT_EDIT: (_rule("account", anyone=ADMINS, owner=ALL),),
    Action.ACCOUNT_PASSWORD: (_rule("account", whole_account=True, anyone=ADMINS, owner=ALL),),
    Action.ACCOUNT_MANAGE: (_rule("account", "tenant", whole_account=True, anyone=ADMINS),),
    Action.KEY_MANAGE: (
        _rule("account", owner=ALL),  # nobody makes a key that acts as somebody else
        _rule("key", anyone=ADMINS, owner=ALL),
        _rule("tenant", anyone=ADMINS),
    ),
    Action.BLUEPRINT_READ: (_rule("tenant", anyone=BUILDERS),),
    Action.PROFILE_READ: (_rule("profile", anyone=BUILDERS, granted=ALL), _rule("tenant", anyone=ALL)),
    Action.PROFILE_USE: (_rule("profile", anyone=BUILDERS, granted=ALL),),
    Action.PROFILE_CREATE: (_rule("tenant", anyone=BUILDERS),),
    Action.PROFILE_EDIT: (_rule("profile", anyone=BUILDERS),),
    Action.WORKSPACE_READ: (
        _rule("workspace", member=ALL, owner=ALL),
        _rule("admin_workspace", anyone=BUILDERS),
        _rule("tenant", anyone=ALL),
    ),
    Action.WORKSPACE_WRITE: (
        _rule("workspace", member=ALL, owner=ALL),
        _rule("admin_workspace", anyone=BUILDERS),
    ),
    Action.THREAD_READ: (_rule("thread", "workspace", member=ALL, owner=ALL),),
    Action.THREAD_WRITE: (_rule("thread", "workspace", member=ALL, owner=ALL),),
    Action.RUN_READ: (
        _rule("run", member=ALL, owner=ALL),
        _rule("scheduled_run", anyone=BUILDERS),  # it is nobody's: those who may change its profile see it
        _rule("tenant", anyone=ALL),
    ),
    Action.RUN_FORK: (_rule("run", member=ALL, owner=ALL), _rule("scheduled_run", anyone=BUILDERS)),
    Action.RUN_STOP: (_rule("run", member=ALL, owner=ALL), _rule("scheduled_run", anyone=BUILDERS)),
    Action.RUN_ANSWER: (_rule("run", member=ALL, owner=ALL), _rule("scheduled_run", anyone=BUILDERS)),
    Action.RUN_INSPECT: (
        _rule("run", member=BUILDERS, owner=BUILDERS),
        _rule("scheduled_run", anyone=BUILDERS),
    ),
    Action.MEMORY_READ: (
        _rule("memory", owner=ALL),
        _rule("namespace", anyone=ADMINS),
        _rule("tenant", anyone=ADMINS),
    ),
    Action.MEMORY_EDIT: (_rule("memory", owner=ALL), _rule("namespace", anyone=ADMINS)),
    Action.COLLECTION_READ: (_rule("collection", granted=ALL, owner=ALL), _rule("tenant", anyone=ALL)),
    Action.COLLECTION_CREATE: (_rule("tenant", anyone=BUILDERS),),
    Action.COLLECTION_EDIT: (_rule("collection", granted=ADMINS, owner=ALL),),
}
"""Who may what. Private things of others are nobody's, not even an owner's: that is break-glass (S5.5)."""

SEEN_BY: Final[Mapping[ResourceKind, Action | None]] = {
    "server": None,
    "tenant": None,
    "account": Action.ACCOUNT_READ,
    "key": Action.KEY_MANAGE,
    "profile": Action.PROFILE_READ,
    "workspace": Action.WORKSPACE_READ,
    "admin_workspace": Action.WORKSPACE_READ,
    "thread": Action.THREAD_READ,
    "run": Action.RUN_READ,
    "scheduled_run": Action.RUN_READ,
    "memory": Action.MEMORY_READ,
    "namespace": Action.MEMORY_READ,
    "collection": Action.COLLECTION_READ,
}
"""By which action a kind is seen at all; None for what every principal of its tenant knows of."""


def authorize(principal: Principal | None, action: Action, resource: Resource) -> None:
    """Return if the principal may do this, else say why not.

    Raises:
        NotSignedIn: Nobody is signed in, and the action is not public.
        NotFound: The resource does not exist, is another tenant's, or may not be seen.
        Forbidden: It is seen, but this action on it is not allowed; `OutOfScope` where only the key's scopes forbid it.
    """
    rule = _rule_for(action, resource.kind)
    if rule is not None and rule.public:
        return
    if principal is None:
        raise NotSignedIn
    if resource.tenant is None or resource.tenant != principal.tenant or not _sees(principal, resource):
        raise NotFound(resource.kind, resource.id)
    if rule is None or not _permits(rule, principal, resource) or _outranked(principal, action, resource):
        raise Forbidden(action, resource.kind)
    if principal.scopes is not None and (rule.whole_account or action not in principal.scopes):
        raise OutOfScope(action, resource.kind)


def allowed(principal: Principal | None, action: Action, resource: Resource) -> bool:
    """Whether `authorize` would return: for filtering lists and for what a client may show."""
    try:
        authorize(principal, action, resource)
    except (NotSignedIn, Forbidden, NotFound):
        return False
    return True


def _rule_for(action: Action, kind: ResourceKind) -> Rule | None:
    return next((rule for rule in RULES[action] if kind in rule.kinds), None)


def _sees(principal: Principal, resource: Resource) -> bool:
    seen_by = SEEN_BY[resource.kind]
    if seen_by is None:
        return True
    rule = _rule_for(seen_by, resource.kind)
    return rule is not None and _permits(rule, principal, resource)


def _permits(rule: Rule, principal: Principal, resource: Resource) -> bool:
    return any(
        principal.role in roles and _related(principal, relation, resource) for relation, roles in rule.who.items()
    )


def _related(principal: Principal, relation: Relation, resource: Resource) -> bool:
    match relation:
        case "anyone":
            return True
        case "granted":
            return resource.access is None or not resource.access.isdisjoint(_names(principal))
        case "member":
            return principal.account in resource.members
        case "owner":
            return principal.account == resource.owner


def _names(principal: Principal) -> frozenset[str]:
    """What stands for this principal on an access list."""
    groups = {f"group:{group}" for group in principal.groups}
    return frozenset({f"role:{principal.role}", f"account:{principal.account}", *groups})


def _outranked(principal: Principal, action: Action, resource: Resource) -> bool:
    """Only owners touch an owner's account or make one; otherwise an admin could take it over."""
    changes_rights = action in {Action.ACCOUNT_MANAGE, Action.ACCOUNT_PASSWORD, Action.ACCOUNT_EDIT}
    is_self = resource.kind == "account" and principal.account == resource.owner
    touches_owner = resource.role is Role.OWNER and principal.role is not Role.OWNER
    return changes_rights and touches_owner and (not is_self or action is Action.ACCOUNT_MANAGE)
