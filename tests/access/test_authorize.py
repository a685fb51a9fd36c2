"""The matrix of S5.2, written out: what each role gets for each action on its own, shared and others' resources.

A cell has four signs, for owner, admin, builder, member: `+` allowed, `F` forbidden (403), `.` not found (404).
"""

from __future__ import annotations

import dataclasses
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planwerk.access.actions import SERVER, Action, Resource, ResourceKind, Role
from planwerk.access.authorize import allowed, authorize
from planwerk.access.errors import Forbidden, NotFound, NotSignedIn, OutOfScope
from planwerk.access.ids import DEFAULT_TENANT, AccountId, TenantId
from planwerk.access.principal import Principal

ME, SOMEBODY = AccountId("me"), AccountId("somebody")
ELSEWHERE = TenantId("elsewhere")
ROLES = [Role.OWNER, Role.ADMIN, Role.BUILDER, Role.MEMBER]
KINDS: tuple[ResourceKind, ...] = get_args(ResourceKind)
KIND_OF: dict[str, ResourceKind] = {kind: kind for kind in KINDS}

# A profile is nobody's own: there the columns are "I am on its list", "it has no list", "its list is empty".
MATRIX = """
action            kind             mine  shared others
server.read       server           ++++  ++++   ++++
server.manage     server           ++FF  ++FF   ++FF
v1.use            tenant           ++++  ++++   ++++
account.read      account          ++++  ++..   ++..
account.read      tenant           ++FF  ++FF   ++FF
account.edit      account          ++++  ++..   ++..
account.password  account          ++++  ++..   ++..
account.manage    account          ++FF  ++..   ++..
account.manage    tenant           ++FF  ++FF   ++FF
key.manage        account          ++++  FF..   FF..
key.manage        key              ++++  ++..   ++..
key.manage        tenant           ++FF  ++FF   ++FF
blueprint.read    tenant           +++F  +++F   +++F
profile.read      profile          ++++  ++++   +++.
profile.read      tenant           ++++  ++++   ++++
profile.use       profile          ++++  ++++   +++.
profile.create    tenant           +++F  +++F   +++F
profile.edit      profile          +++F  +++F   +++.
workspace.read    workspace        ++++  ++++   ....
workspace.read    admin_workspace  +++.  +++.   +++.
workspace.read    tenant           ++++  ++++   ++++
workspace.write   workspace        ++++  ++++   ....
workspace.write   admin_workspace  +++.  +++.   +++.
thread.read       workspace        ++++  ++++   ....
thread.read       thread           ++++  ++++   ....
thread.write      workspace        ++++  ++++   ....
thread.write      thread           ++++  ++++   ....
run.read          run              ++++  ++++   ....
run.read          scheduled_run    +++.  +++.   +++.
run.read          tenant           ++++  ++++   ++++
run.stop          run              ++++  ++++   ....
run.stop          scheduled_run    +++.  +++.   +++.
run.fork          run              ++++  ++++   ....
run.fork          scheduled_run    +++.  +++.   +++.
run.answer        run              ++++  ++++   ....
run.answer        scheduled_run    +++.  +++.   +++.
run.inspect       run              +++F  +++F   ....
run.inspect       scheduled_run    +++.  +++.   +++.
memory.read       memory           ++++  ....   ....
memory.read       namespace        ++..  ++..   ++..
memory.read       tenant           ++FF  ++FF   ++FF
memory.edit       memory           ++++  ....   ....
memory.edit       namespace        ++..  ++..   ++..
collection.read   collection       ++++  ++++   ....
collection.read   tenant           ++++  ++++   ++++
collection.create tenant           +++F  +++F   +++F
collection.edit   collection       ++++  ++FF   ....
"""
RELATIONS = ["mine", "shared", "others"]


def principal(role: Role, *, scopes: frozenset[Action] | None = None, tenant: TenantId = DEFAULT_TENANT) -> Principal:
    return Principal(tenant, ME, "Me", role, scopes=scopes, via="session" if scopes is None else "key")


def resource(kind: ResourceKind, relation: str, tenant: TenantId = DEFAULT_TENANT) -> Resource:
    if kind == "profile":
        access = {"mine": frozenset({f"account:{ME}"}), "shared": None, "others": frozenset[str]()}[relation]
        return Resource(kind, "it", tenant, access=access)
    owner = ME if relation == "mine" else SOMEBODY
    if kind == "collection":
        access = frozenset({f"account:{ME}"}) if relation == "shared" else frozenset[str]()
        return Resource(kind, "it", tenant, owner=owner, access=access)
    members = frozenset({ME}) if relation == "shared" else frozenset[AccountId]()
    return Resource(kind, "it", tenant, owner=owner, members=members)


def rows() -> list[tuple[Action, ResourceKind, str, Role, str]]:
    found: list[tuple[Action, ResourceKind, str, Role, str]] = []
    for line in MATRIX.strip().splitlines()[1:]:
        action, named, *cells = line.split()
        kind = KIND_OF[named]
        for relation, cell in zip(RELATIONS, cells, strict=True):
            for role, expected in zip(ROLES, cell, strict=True):
                found.append((Action(action), kind, relation, role, expected))
    return found


LISTED = {(action, kind) for action, kind, *_ in rows()}
UNLISTED: list[tuple[Action, ResourceKind]] = [
    (action, kind) for action in Action for kind in KINDS if (action, kind) not in LISTED
]
EVERYTHING: list[tuple[Action, ResourceKind, str, Role]] = [
    (action, kind, relation, role) for action in Action for kind in KINDS for relation in RELATIONS for role in ROLES
]


def sign(who: Principal | None, action: Action, what: Resource) -> str:
    try:
        authorize(who, action, what)
    except Forbidden:
        return "F"
    except NotFound:
        return "."
    except NotSignedIn:
        return "?"
    return "+"


@pytest.mark.parametrize(("action", "kind", "relation", "role", "expected"), rows())
def test_the_matrix(action: Action, kind: ResourceKind, relation: str, role: Role, expected: str) -> None:
    assert sign(principal(role), action, resource(kind, relation)) == expected


def test_the_matrix_names_every_action() -> None:
    assert {action for action, _ in LISTED} == set(Action)


@pytest.mark.parametrize(("action", "kind"), UNLISTED)
def test_an_action_on_a_kind_the_matrix_does_not_list_is_denied_to_everybody(
    action: Action, kind: ResourceKind
) -> None:
    signs = {sign(principal(role), action, resource(kind, relation)) for role in ROLES for relation in RELATIONS}

    assert "+" not in signs


def test_nobody_signed_in_gets_only_what_is_public() -> None:
    got = {(action, kind): sign(None, action, resource(KIND_OF[kind], "mine")) for action in Action for kind in KINDS}

    assert {pair for pair, sign in got.items() if sign == "+"} == {(Action.SERVER_READ, "server")}
    assert set(got.values()) == {"+", "?"}


def test_another_tenants_resource_is_not_found_whatever_the_role_and_whoever_it_names() -> None:
    signs = {
        sign(principal(role), action, resource(kind, relation, ELSEWHERE))
        for action, kind, relation, role in EVERYTHING
        if action is not Action.SERVER_READ or kind != "server"
    }

    assert signs == {"."}


def test_what_does_not_exist_gives_the_same_words_as_what_is_foreign_or_private() -> None:
    texts: set[tuple[str, str]] = set()
    for what in (
        Resource.missing("thread", "it"),
        resource("thread", "mine", ELSEWHERE),
        resource("thread", "others"),
    ):
        with pytest.raises(NotFound) as refused:
            authorize(principal(Role.OWNER), Action.THREAD_WRITE, what)
        texts.add((str(refused.value), refused.value.code))

    assert len(texts) == 1


def test_the_admins_workspace_is_refused_to_a_member_in_the_words_of_any_workspace() -> None:
    texts: set[str] = set()
    for what in (Resource.missing("workspace", "it"), resource("admin_workspace", "others")):
        with pytest.raises(NotFound) as refused:
            authorize(principal(Role.MEMBER), Action.WORKSPACE_READ, what)
        texts.add(str(refused.value))

    assert len(texts) == 1


@pytest.mark.parametrize(
    ("access", "groups", "seen"),
    [
        (frozenset({"role:member"}), (), True),
        (frozenset({"role:builder"}), (), False),
        (frozenset({"group:sales"}), ("sales",), True),
        (frozenset({"group:sales"}), ("role:sales", "marketing"), False),
        (frozenset({"account:me"}), (), True),
        (frozenset({"me", "member", "*"}), (), False),
    ],
)
def test_a_profile_is_seen_by_those_on_its_list(access: frozenset[str], groups: tuple[str, ...], seen: bool) -> None:
    member = dataclasses.replace(principal(Role.MEMBER), groups=frozenset(groups))
    profile = Resource("profile", "it", DEFAULT_TENANT, access=access)

    assert allowed(member, Action.PROFILE_USE, profile) is seen


@pytest.mark.parametrize("action", [Action.ACCOUNT_MANAGE, Action.ACCOUNT_PASSWORD, Action.ACCOUNT_EDIT])
@pytest.mark.parametrize(
    ("role", "target", "expected"),
    [
        (Role.OWNER, Role.OWNER, "+"),
        (Role.OWNER, Role.ADMIN, "+"),
        (Role.ADMIN, Role.OWNER, "F"),
        (Role.ADMIN, Role.ADMIN, "+"),
        (Role.BUILDER, Role.MEMBER, "."),
    ],
)
def test_only_owners_touch_or_make_an_owner(action: Action, role: Role, target: Role, expected: str) -> None:
    account = dataclasses.replace(resource("account", "others"), role=target)

    assert sign(principal(role), action, account) == expected


def test_an_admin_cannot_make_an_owner_of_himself() -> None:
    becoming_owner = dataclasses.replace(resource("account", "mine"), role=Role.OWNER)

    assert sign(principal(Role.ADMIN), Action.ACCOUNT_MANAGE, becoming_owner) == "F"


def test_an_admin_cannot_create_an_owner() -> None:
    new_owner = dataclasses.replace(Resource.of_tenant(DEFAULT_TENANT), role=Role.OWNER)

    assert sign(principal(Role.ADMIN), Action.ACCOUNT_MANAGE, new_owner) == "F"
    assert sign(principal(Role.OWNER), Action.ACCOUNT_MANAGE, new_owner) == "+"


SCOPES = st.frozensets(st.sampled_from(list(Action)))


@given(scopes=SCOPES, asked=st.sampled_from(EVERYTHING))
def test_scopes_only_narrow(scopes: frozenset[Action], asked: tuple[Action, ResourceKind, str, Role]) -> None:
    action, kind, relation, role = asked
    what = resource(kind, relation)

    narrowed = sign(principal(role, scopes=scopes), action, what)

    whole = sign(principal(role), action, what)
    assert narrowed in {whole, "F"} if whole == "+" else narrowed == whole
    assert narrowed != "+" or action in scopes or action is Action.SERVER_READ


@pytest.mark.parametrize("action", [Action.ACCOUNT_MANAGE, Action.ACCOUNT_PASSWORD, Action.SERVER_MANAGE])
def test_what_could_widen_a_key_again_is_refused_to_it_even_with_that_scope(action: Action) -> None:
    kind: ResourceKind = "server" if action is Action.SERVER_MANAGE else "account"

    with pytest.raises(OutOfScope):
        authorize(principal(Role.OWNER, scopes=frozenset(Action)), action, resource(kind, "mine"))


def test_a_key_out_of_scope_learns_which_scope_it_lacks_but_not_whether_foreign_things_exist() -> None:
    narrow = principal(Role.OWNER, scopes=frozenset({Action.V1_USE}))

    with pytest.raises(OutOfScope, match=r"thread\.read"):
        authorize(narrow, Action.THREAD_READ, resource("thread", "mine"))
    assert sign(narrow, Action.THREAD_READ, resource("thread", "others")) == "."


def test_the_installation_is_managed_from_the_tenant_default_alone() -> None:
    assert sign(principal(Role.OWNER), Action.SERVER_MANAGE, SERVER) == "+"
    assert sign(principal(Role.OWNER, tenant=ELSEWHERE), Action.SERVER_MANAGE, SERVER) == "."
    assert sign(principal(Role.MEMBER, tenant=ELSEWHERE), Action.SERVER_READ, SERVER) == "+"
