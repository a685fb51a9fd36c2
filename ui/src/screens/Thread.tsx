import { useCallback, useEffect, useMemo, useState } from "react";
import { Link, useParams } from "react-router";
import type { Profile } from "../api/types";
import * as server from "../client/endpoints";
import { newId } from "../client/ids";
import { requestsOf, waitsFor } from "../log/requests";
import { shownPath, turnsOf, withQuestions, workingRun, type Turn } from "../log/tree";
import type { RunFacts, ThreadState } from "../log/state";
import { ErrorLine } from "../parts/ErrorLine";
import { explain } from "../parts/explain";
import { Icon } from "../parts/Icon";
import { Skeleton } from "../parts/Skeleton";
import { useTexts } from "../parts/useTexts";
import { usePreferences } from "../store/preferences";
import { loadEarlier, loadThread, useView } from "../store/view";
import { Composer, SendError } from "../thread/Composer";
import { Title } from "../thread/Title";
import { TurnView, type TurnActions } from "../thread/Turn";
import { useFollowing } from "../thread/useFollowing";
import { useSender, type Outgoing, type Sender } from "../thread/useSender";

/** How many turns are drawn before the reader asks for earlier ones. */
const DRAWN_TURNS = 60;

export function ThreadScreen() {
  const { id = "" } = useParams();
  // Another thread is another screen: nothing of this one can be left in it.
  return <OneThread key={id} id={id} />;
}

function OneThread({ id }: { id: string }) {
  const { t } = useTexts();
  const opened = useView((state) => state.opened[id]);
  useEffect(() => {
    void loadThread(id);
  }, [id]);
  if (opened?.loading === "missing") {
    return (
      <main className="work" id="work">
        <div className="page-state">
          <p>{t("thread.missing")}</p>
          <Link className="button" to="/">
            {t("thread.missingButton")}
          </Link>
        </div>
      </main>
    );
  }
  return <Conversation id={id} failed={opened?.loading === "failed"} more={opened?.more === true} />;
}

function Conversation({ id, failed, more }: { id: string; failed: boolean; more: boolean }) {
  const { t } = useTexts();
  const thread = useView((state) => state.view.threads[id]);
  const row = useView((state) => state.summaries.rows[id]);
  const turns = useMemo(() => (thread === undefined ? [] : turnsShown(thread)), [thread]);
  const working = useMemo(() => (thread === undefined ? null : workingRun(thread)), [thread]);
  const asked = useMemo(
    () => (thread === undefined || working === null ? [] : requestsOf(thread, working.id)),
    [thread, working],
  );
  const answers = asked.some((one) => one.kind === "chat" && one.status === "open" && one.may_answer);
  const needsYou = working !== null && waitsFor(working, asked) === "you";
  const { scroller, content, onScroll, away, toEnd, keepPlace } = useFollowing();
  const send = useCallback(
    async ({ message_id, content, when }: Outgoing) => {
      await server.postMessage(id, { message_id, content, when });
      toEnd();
    },
    [id, toEnd],
  );
  const sender = useSender(id, send);
  const [problem, setProblem] = useState<unknown>(null);
  const actions = useActions(id, sender, setProblem, toEnd);
  const answerer = useView((state) => answererOf(state.profiles, row?.profile));
  const whenDefault = useView((state) => state.profiles?.find((one) => one.id === row?.profile)?.when_default);
  const title = thread?.title ?? row?.title ?? null;
  useDocumentTitle(title ?? t("list.untitled"));
  const loading = thread === undefined && !failed;
  return (
    <main className="work" id="work" aria-labelledby="title">
      <Bar id={id} title={title} thread={thread} />
      <div
        className="thread"
        ref={scroller}
        onScroll={onScroll}
        // eslint-disable-next-line jsx-a11y/no-noninteractive-tabindex -- a scrolling area is reached by keyboard
        tabIndex={0}
        role="log"
        aria-label={t("thread.messages")}
      >
        <div className="column" ref={content}>
          {loading && <Skeleton label={t("app.loading")} groups={2} />}
          {failed && (
            <ErrorLine
              title={t("thread.loadFailed")}
              action={{ label: t("app.retry"), run: () => void loadThread(id) }}
            />
          )}
          <Turns id={id} turns={turns} more={more} actions={actions} keepPlace={keepPlace} />
          {away && <Below thread={thread} working={working} needsYou={needsYou} onEnd={toEnd} />}
        </div>
      </div>
      <div className="compose">
        <Connection />
        {answers && <Asks name={working?.profileName ?? answerer} />}
        {problem !== null && <Problem problem={problem} />}
        <SendError sender={sender} />
        <Composer
          sender={sender}
          focusFirst
          label={t("composer.message")}
          placeholder={answerer === null ? "" : t(answers ? "composer.answer" : "home.ask", { profile: answerer })}
          working={working}
          answers={answers}
          {...(whenDefault === undefined ? {} : { whenDefault })}
          onStop={() => stop(working, setProblem)}
        />
      </div>
    </main>
  );
}

function turnsShown(thread: ThreadState): Turn[] {
  return turnsOf(withQuestions(thread, shownPath(thread)));
}

/** The agent has asked in the conversation: the next message is the answer. */
function Asks({ name }: { name: string | null }) {
  const { t } = useTexts();
  return (
    <p className="quiet-line wait" role="status">
      <Icon name="wait" />
      {t("composer.waits", { profile: name ?? t("request.anAgent") })}
    </p>
  );
}

function answererOf(profiles: Profile[] | null, id: string | null | undefined): string | null {
  return profiles?.find((one) => one.id === id)?.name ?? null;
}

function stop(run: RunFacts | null, onProblem: (problem: unknown) => void): void {
  if (run !== null) server.stopRun(run.id).catch(onProblem);
}

/** Stable, so that finished turns are not drawn again. */
function useActions(
  id: string,
  sender: Sender,
  onProblem: (problem: unknown) => void,
  toEnd: () => void,
): TurnActions {
  const { submitText } = sender;
  return useMemo(
    () => ({
      again: (message) => {
        onProblem(null);
        server.answerAgain(id, message, newId()).then(toEnd, onProblem);
      },
      ask: (question) => void submitText(question),
    }),
    [id, submitText, onProblem, toEnd],
  );
}

function Problem({ problem }: { problem: unknown }) {
  const { t, locale } = useTexts();
  return <ErrorLine title={explain(problem, t, locale)} />;
}

interface BarProps {
  id: string;
  title: string | null;
  thread: ThreadState | undefined;
}

function Bar({ id, title, thread }: BarProps) {
  const { t } = useTexts();
  const { listFolded, change } = usePreferences();
  return (
    <header className="bar">
      <Link className="icon-button narrow-only" to="/chats" aria-label={t("thread.all")}>
        <Icon name="left" />
      </Link>
      {listFolded && (
        <button
          type="button"
          className="icon-button show-list"
          aria-label={t("list.unfold")}
          title={t("list.unfold")}
          onClick={() => change({ listFolded: false })}
        >
          <Icon name="fold" />
        </button>
      )}
      <Title thread={id} title={title} />
      <Who id={id} thread={thread} />
    </header>
  );
}

/** The profile that answers here, in the version of its newest run. */
function Who({ id, thread }: { id: string; thread: ThreadState | undefined }) {
  const { t } = useTexts();
  const profile = useView((state) => state.profiles?.find((one) => one.id === state.summaries.rows[id]?.profile));
  const run = thread === undefined ? undefined : Object.values(thread.runs).at(-1);
  const name = run?.profileName ?? profile?.name ?? null;
  const version = run?.profileVersion ?? profile?.version ?? null;
  if (name === null || version === null) return null;
  return (
    <span className="who wide-only" role="note" aria-label={t("thread.agent", { name, version })}>
      <Icon name="agent" />
      {name} <span className="v">v{version}</span>
    </span>
  );
}

interface TurnsProps {
  id: string;
  turns: Turn[];
  more: boolean;
  actions: TurnActions;
  keepPlace: (change: () => Promise<void>) => void;
}

function Turns({ id, turns, more, actions, keepPlace }: TurnsProps) {
  const { t } = useTexts();
  const [drawn, setDrawn] = useState(DRAWN_TURNS);
  const hidden = turns.length > drawn;
  const earlier = async () => {
    setDrawn(drawn + DRAWN_TURNS);
    if (more && turns.length <= drawn + DRAWN_TURNS) await loadEarlier(id).catch(() => undefined);
  };
  return (
    <>
      {(hidden || more) && (
        <button type="button" className="button quiet earlier" onClick={() => keepPlace(earlier)}>
          {t("thread.earlier")}
        </button>
      )}
      {turns.slice(-drawn).map((turn, index, shown) => (
        <TurnView key={turn.id} thread={id} turn={turn} last={index === shown.length - 1} actions={actions} />
      ))}
    </>
  );
}

interface BelowProps {
  thread: ThreadState | undefined;
  working: RunFacts | null;
  needsYou: boolean;
  onEnd: () => void;
}

/** There while the reader is away from the end; it says when something came since. */
function Below({ thread, working, needsYou, onEnd }: BelowProps) {
  const { t } = useTexts();
  const streamed = useView((state) => (working === null ? 0 : (state.view.journals[working.id]?.live.n ?? 0)));
  const now = `${thread?.log.length ?? 0}.${streamed}`;
  const [before] = useState(now);
  return (
    <div className="below">
      <button type="button" onClick={onEnd}>
        <Icon name={needsYou ? "wait" : "arrowdown"} className="s" />
        {needsYou ? t("thread.needsYou") : now !== before ? t("thread.below") : t("thread.toEnd")}
      </button>
    </div>
  );
}

function Connection() {
  const { t } = useTexts();
  const lost = useView((state) => state.connection === "lost");
  if (!lost) return null;
  return (
    <p className="quiet-line" role="status">
      <Icon name="wait" />
      {t("thread.lost")}
    </p>
  );
}

function useDocumentTitle(title: string): void {
  useEffect(() => {
    document.title = `${title} · Planwerk`;
    return () => {
      document.title = "Planwerk";
    };
  }, [title]);
}
