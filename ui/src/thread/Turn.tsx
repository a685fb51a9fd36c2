import { lazy, memo, Suspense, useMemo } from "react";
import { Link } from "react-router";
import type { PersonRequest } from "../api/types";
import { clock, count, money } from "../i18n/format";
import { liveText } from "../log/live";
import { NO_LIVE, type Message, type RunFacts } from "../log/state";
import { waitsFor } from "../log/requests";
import type { Turn } from "../log/tree";
import { Markdown } from "../markdown/Markdown";
import { CopyButton } from "../parts/CopyButton";
import { ErrorLine } from "../parts/ErrorLine";
import { cause } from "../parts/explain";
import { Icon } from "../parts/Icon";
import { Skeleton } from "../parts/Skeleton";
import { useTexts } from "../parts/useTexts";
import { useView } from "../store/view";
import { Activity } from "./Activity";

const RequestCard = lazy(() => import("../requests/RequestCard").then(({ RequestCard: card }) => ({ default: card })));

export interface TurnActions {
  /** Answers this message again, as a new reply. */
  again: (message: string) => void;
  ask: (question: string) => void;
}

interface TurnProps {
  thread: string;
  turn: Turn;
  last: boolean;
  actions: TurnActions;
}

/** A person's message and what answers it. Drawn again only when one of its messages changed. */
export const TurnView = memo(function TurnView({ thread, turn, last, actions }: TurnProps) {
  const { t, locale } = useTexts();
  const { question, replies } = turn;
  const time = clock(question?.time ?? replies[0]?.time ?? 0, locale);
  return (
    <section className="turn" aria-label={t("thread.yourQuestion", { time })}>
      {question !== null && (
        <div className="said">
          <p>{question.content}</p>
          {question.meanwhile !== null && (
            <p className="meanwhile">
              {t(question.meanwhile === "taken" ? "thread.saidMeanwhile" : "thread.saidOnItsWay")}
            </p>
          )}
        </div>
      )}
      {replies.map((reply, index) => (
        <ReplyView
          key={reply.id}
          thread={thread}
          reply={reply}
          last={last && index === replies.length - 1}
          actions={actions}
        />
      ))}
    </section>
  );
}, sameTurn);

function sameTurn(a: TurnProps, b: TurnProps): boolean {
  if (a.thread !== b.thread || a.last !== b.last || a.actions !== b.actions) return false;
  if (a.turn.question !== b.turn.question || a.turn.replies.length !== b.turn.replies.length) return false;
  return a.turn.replies.every((reply, index) => reply === b.turn.replies[index]);
}

interface ReplyProps {
  thread: string;
  reply: Message;
  last: boolean;
  actions: TurnActions;
}

function ReplyView({ thread, reply, last, actions }: ReplyProps) {
  const { t } = useTexts();
  const run = useView((state) => (reply.run === null ? undefined : state.view.threads[thread]?.runs[reply.run]));
  const all = useView((state) => state.view.threads[thread]?.requests);
  const asked = useMemo(() => Object.values(all ?? {}).filter((one) => one.run === reply.run), [all, reply.run]);
  if (reply.asks !== null) return <Question reply={reply} run={run} asked={asked} />;
  const settled = reply.posted;
  return (
    <div className="reply" role="article" aria-label={t("thread.answer")}>
      {run !== undefined && <Activity run={run} waits={waitsFor(run, asked)} />}
      <Requests requests={asked.filter((one) => one.kind !== "chat")} />
      {settled ? <Markdown text={reply.content} /> : <StreamingText run={reply.run} />}
      <Outcome reply={reply} run={run} onRetry={actions.again} />
      {settled && <Tools reply={reply} run={run} last={last} onAgain={actions.again} />}
      {settled && last && reply.followUps.length > 0 && <FollowUps questions={reply.followUps} onAsk={actions.ask} />}
    </div>
  );
}

interface QuestionProps {
  reply: Message;
  run: RunFacts | undefined;
  asked: readonly PersonRequest[];
}

/** What a run asks in the conversation: a message of its own, which the composer answers. */
function Question({ reply, run, asked }: QuestionProps) {
  const { t } = useTexts();
  const request = asked.find((one) => one.id === reply.asks);
  const open = request?.status === "open";
  return (
    <div className="reply" role="article" aria-label={t("thread.question")}>
      {open && run !== undefined && <Activity run={run} waits={waitsFor(run, asked)} />}
      <Markdown text={reply.content} />
      {request !== undefined && !open && request.status !== "answered" && <Requests requests={[request]} />}
    </div>
  );
}

/** What runs ask is fetched when the first is there. */
function Requests({ requests }: { requests: readonly PersonRequest[] }) {
  const { t } = useTexts();
  if (requests.length === 0) return null;
  return (
    <Suspense fallback={<Skeleton label={t("app.loading")} lines={4} />}>
      {requests.map((one) => (
        <RequestCard key={one.id} request={one} place="thread" />
      ))}
    </Suspense>
  );
}

function StreamingText({ run }: { run: string | null }) {
  const text = useView((state) => liveText((run === null ? undefined : state.view.journals[run]?.live) ?? NO_LIVE));
  return text === "" ? null : <Markdown text={text} />;
}

interface OutcomeProps {
  reply: Message;
  run: RunFacts | undefined;
  onRetry: (message: string) => void;
}

/** How an answer that is not whole came to its end, what was kept, and the way on. */
function Outcome({ reply, run, onRetry }: OutcomeProps) {
  const { t } = useTexts();
  const over = run?.status === "failed" || run?.status === "stopped";
  if (!reply.incomplete && !over) return null;
  const stopped = run?.status === "stopped" || reply.error?.code === "stopped";
  const error = reply.error ?? run?.error ?? null;
  const kept = reply.content === "" ? "" : t("thread.kept");
  const parent = reply.parent;
  const action = parent === null ? {} : { action: { label: t("thread.retry"), run: () => onRetry(parent) } };
  if (stopped) {
    return (
      <ErrorLine calm title={t("thread.stopped")} {...action}>
        {kept === "" ? t("thread.empty") : kept}
      </ErrorLine>
    );
  }
  const title = reply.content === "" ? t("thread.failed") : t("thread.brokeOff");
  return (
    <ErrorLine title={title} {...action}>
      {[cause(error, t), kept].filter((one) => one !== "").join(" ")}
    </ErrorLine>
  );
}

interface ToolsProps {
  reply: Message;
  run: RunFacts | undefined;
  last: boolean;
  onAgain: (message: string) => void;
}

function Tools({ reply, run, last, onAgain }: ToolsProps) {
  const { t } = useTexts();
  const parent = reply.parent;
  return (
    <div className={last ? "tools stays" : "tools"} role="group" aria-label={t("thread.thisAnswer")}>
      {reply.content !== "" && <CopyButton label={t("thread.copy")} text={() => reply.content} />}
      {parent !== null && (
        <button
          type="button"
          className="icon-button s"
          aria-label={t("thread.again")}
          title={t("thread.again")}
          onClick={() => onAgain(parent)}
        >
          <Icon name="again" />
        </button>
      )}
      {reply.run !== null && (
        <Link className="text-button" to={`/runs/${reply.run}`}>
          {t("thread.openRun")}
        </Link>
      )}
      {run !== undefined && <Cost run={run} />}
    </div>
  );
}

function Cost({ run }: { run: RunFacts }) {
  const { t, locale } = useTexts();
  const { usage, cost } = run;
  if (usage === null) return null;
  const tokens = count(usage.input_tokens + usage.output_tokens, locale);
  const words = [`${tokens} ${t("thread.tokensWord")}`, cost === null || cost === 0 ? null : money(cost, locale)];
  return <span className="cost">{words.filter((one) => one !== null).join(" · ")}</span>;
}

function FollowUps({ questions, onAsk }: { questions: readonly string[]; onAsk: (question: string) => void }) {
  const { t } = useTexts();
  return (
    <div className="further" role="group" aria-label={t("thread.followUps")}>
      {questions.slice(0, 3).map((question) => (
        <button type="button" key={question} onClick={() => onAsk(question)}>
          <Icon name="follow" />
          {question}
        </button>
      ))}
    </div>
  );
}
