"""Starting the run that answers a request: in the conversation the client names, or by itself (S4.1, E4.7)."""

from __future__ import annotations

from planwerk import locales
from planwerk.access.actions import Action, Resource
from planwerk.access.authorize import authorize
from planwerk.access.principal import Principal
from planwerk.messages.events import UserMessageEvent
from planwerk.runtime.ports import RequestRecord
from planwerk.server.openai.asking import open_of, words_of
from planwerk.server.openai.errors import BadRequest
from planwerk.server.openai.history import check_roles, has_more_than_text, history_of, text_of
from planwerk.server.openai.identity import Conversation
from planwerk.server.openai.requests import ChatRequest
from planwerk.server.openai.turns import Turn
from planwerk.server.parts import Parts, find_thread
from planwerk.workflow.ids import EventId, MessageId, RunId, ThreadId, WorkspaceId, new_id
from planwerk.workflow.people import AnswerInvalid
from planwerk.workspace.rules.commands import LAST, CreateThread
from planwerk.workspace.rules.errors import InvalidState
from planwerk.workspace.views import ThreadView


async def begin(
    parts: Parts,
    principal: Principal,
    profile: str,
    request: ChatRequest,
    named: Conversation,
    locale: str,
    base_url: str,
) -> Turn:
    """Start the run that answers a request, or answer what a run of the conversation asks.

    Args:
        base_url: Where the web client is, for links to it.

    Raises:
        BadRequest: The messages are none of this protocol.
        NotFound: The thread is somebody else's.
    """
    run = named.answer or RunId(new_id())
    if named.thread is None:
        return await _begin_alone(parts, principal, profile, request, run, locale)
    content = _question(request)
    link = f"{base_url.rstrip('/')}/threads/{named.thread}"
    turn = Turn(parts, principal, run, owned=False, locale=locale, link=link)
    try:
        asking = _Asking(parts, principal, profile, request.features, locale, named, named.thread)
        if not await asking.answer_open_request(content, turn):
            turn.follow(await asking.post(content, run))
    except BaseException:
        turn.end()
        raise
    return turn


async def _begin_alone(
    parts: Parts, principal: Principal, profile: str, request: ChatRequest, run: RunId, locale: str
) -> Turn:
    """A run over the sent history, in the key's workspace and without a thread: no list of chats shows it (ADR 12)."""
    event = UserMessageEvent(
        messages=history_of(request.messages),
        user=principal.identity(),
        locale=locale,
        requested_features=request.features,
    )
    turn = Turn(parts, principal, run, owned=True, locale=locale)
    try:
        await parts.host.start(
            profile,
            event,
            actor=principal.actor(),
            tenant=principal.tenant,
            workspace=await parts.workspaces.private_of(principal.tenant, principal.actor()),
            run_id=run,
            locale=locale,
            forget_after_seconds=parts.stateless_seconds,
        )
    except BaseException:
        turn.end()
        raise
    return turn


def _question(request: ChatRequest) -> str:
    """The words to post: those of the person's last message; what came before is in the thread.

    Raises:
        BadRequest: There are none, or more than words.
    """
    check_roles(request.messages)
    place = request.question_place
    where, content = f"messages[{place}]", request.messages[place].get("content")
    if has_more_than_text(content, where):
        raise BadRequest(
            "pictures and files are only taken in a request that names no conversation.", param=f"{where}.content"
        )
    text = text_of(content, where)
    if not text.strip():
        raise BadRequest("the message is empty.", param=f"{where}.content", code="empty_message")
    return text


class _Asking:
    """Posts a person's message to a thread, or asks once more for an answer to one that is there."""

    def __init__(
        self,
        parts: Parts,
        principal: Principal,
        profile: str,
        features: tuple[str, ...],
        locale: str,
        named: Conversation,
        thread: ThreadId,
    ) -> None:
        self._parts = parts
        self._principal = principal
        self._profile = profile
        self._features = features
        self._locale = locale
        self._named = named
        self._thread = thread

    async def post(self, content: str, run: RunId) -> RunId:
        """The run that answers: one that has been asked for already, where the request is sent again."""
        workspace, view = await self._thread_of_account()
        if view is not None and any(known.id == run for known in view.runs):
            return run
        if view is not None and _holds(view, self._named.question):
            return await self._ask_again(workspace, run)
        try:
            posted = await self._post(workspace, view, content, run)
        except InvalidState:
            _, now = await self._thread_of_account()
            if now is None or not _holds(now, self._named.question):
                raise
        else:
            if posted == run or self._named.answer is None:
                return posted
        # Two models were asked at once, and the other request posted the message first.
        return await self._ask_again(workspace, run)

    async def answer_open_request(self, content: str, turn: Turn) -> bool:
        """Whether a run of the thread waits for a person: then the message is for it, and asks for no run of its own.

        A text answers the first question; what needs a decision is asked again, with the place to decide it.
        """
        parts, named = self._parts, self._named
        if await parts.workspaces.locate_thread(self._principal.tenant, self._thread) is None:
            return False
        found = await find_thread(parts, self._principal, self._thread, Action.THREAD_WRITE)
        active = found.summary.active_run
        asked = open_of(await parts.host.requests_of(active), parts.clock()) if active is not None else []
        if active is None or not asked:
            return False
        view = await found.space.thread(found.summary.id)
        places = {LAST, active, *(record.id for record in asked)}
        if _holds(view, named.question) or _holds(view, named.answer):
            return False
        if named.before not in places and _holds(view, named.before):
            return False  # the person goes on from an earlier message
        await turn.go_on(active)
        if asked[0].kind != "confirmation":
            await self._answer(asked[0], content, turn)
        return True

    async def _answer(self, record: RequestRecord, content: str, turn: Turn) -> None:
        request = EventId(record.id)
        try:
            await self._parts.host.answer(
                request,
                words_of(record, content),
                actor=self._principal.actor(),
                tenant=self._principal.tenant,
                message_id=self._named.question,
            )
            turn.answers(request)
        except AnswerInvalid as invalid:
            cause = "; ".join(str(error["msg"]) for error in invalid.errors)
            turn.note = locales.text("requests.misfit", self._locale, cause=cause)

    async def _thread_of_account(self) -> tuple[WorkspaceId, ThreadView | None]:
        """The thread's workspace, and the thread as it is; made in the private workspace where there is none."""
        parts, principal = self._parts, self._principal
        workspace = await parts.workspaces.locate_thread(principal.tenant, self._thread)
        if workspace is not None:
            found = await find_thread(parts, principal, self._thread, Action.THREAD_WRITE)
            return found.workspace, await found.space.thread(found.summary.id)
        workspace = await parts.workspaces.private_of(principal.tenant, principal.actor())
        home = Resource("workspace", workspace, principal.tenant, owner=principal.account)
        authorize(principal, Action.THREAD_WRITE, home)
        space = parts.workspaces.of(principal.tenant, workspace, principal.actor())
        await space.send(CreateThread(thread_id=self._thread), command_id=self._thread)
        return workspace, None

    async def _post(self, workspace: WorkspaceId, view: ThreadView | None, content: str, run: RunId) -> RunId:
        before = self._named.before
        if before not in {None, LAST} and (view is None or not _holds(view, before)):
            before = LAST  # what it follows was said elsewhere: by another model, or before we were asked
        posted = await self._parts.host.post_message(
            tenant=self._principal.tenant,
            workspace=workspace,
            thread=self._thread,
            message_id=self._named.question or MessageId(new_id()),
            parent_id=before,
            content=content,
            when="next",
            actor=self._principal.actor(),
            profile=self._profile,
            requested_features=self._features,
            locale=self._locale,
            run_id=run,
        )
        return posted.run_id

    async def _ask_again(self, workspace: WorkspaceId, run: RunId) -> RunId:
        """One more answer to a message that is there."""
        assert self._named.question is not None
        posted = await self._parts.host.request_run(
            tenant=self._principal.tenant,
            workspace=workspace,
            thread=self._thread,
            message_id=self._named.question,
            actor=self._principal.actor(),
            profile=self._profile,
            requested_features=self._features,
            locale=self._locale,
            run_id=run,
        )
        return posted.run_id


def _holds(view: ThreadView, message: str | None) -> bool:
    """Whether a message is in the thread, or a reply to come."""
    return any(known.id == message for known in (*view.messages, *view.runs))
