import { useId, useLayoutEffect, useRef } from "react";
import { Link } from "react-router";
import type { PersonRequest } from "../api/types";
import { Markdown } from "../markdown/Markdown";
import { ErrorLine } from "../parts/ErrorLine";
import { Icon } from "../parts/Icon";
import { useNow } from "../parts/useNow";
import { useTexts } from "../parts/useTexts";
import { useInbox } from "../store/inbox";
import { useSession } from "../store/session";
import { ConfirmationForm } from "./ConfirmationForm";
import { ClosedRequest } from "./ClosedRequest";
import { InputForm } from "./InputForm";
import { useAnswering } from "./useAnswering";
import { useAskers } from "./useAskers";
import { askedBy, expiry, recipients, refusal } from "./words";
import "../styles/requests.css";

interface RequestCardProps {
  request: PersonRequest;
  /** In the inbox it has the way to its chat. */
  place: "thread" | "inbox";
}

/** A question of a run, where it can be answered; afterwards one line of who said what. */
export function RequestCard({ request, place }: RequestCardProps) {
  const told = useInbox((state) => state.inbox.closed[request.id]);
  const shown = request.status === "open" && told !== undefined ? told : request;
  const line = useRef<HTMLDivElement>(null);
  const open = shown.status === "open";
  const wasOpen = useRef(open);
  useLayoutEffect(() => {
    // The button that was pressed is gone: the focus stays in this place.
    const lost = document.activeElement === document.body || document.activeElement === null;
    if (wasOpen.current && !open && lost) line.current?.focus({ preventScroll: true });
    wasOpen.current = open;
  }, [open]);
  return (
    <div ref={line} className="request" tabIndex={-1}>
      {open ? <OpenRequest request={shown} place={place} /> : <ClosedRequest request={shown} />}
    </div>
  );
}

function OpenRequest({ request, place }: RequestCardProps) {
  const { t, locale } = useTexts();
  const title = useId();
  const card = useRef<HTMLElement>(null);
  const answering = useAnswering(request);
  const [before, name, after] = askedBy(useAskers()(request), t);
  const problem = answering.error === null ? null : refusal(answering.error, t, locale);
  return (
    <article
      ref={card}
      className="ask"
      aria-labelledby={title}
      aria-busy={answering.sending !== null}
      // eslint-disable-next-line jsx-a11y/no-noninteractive-tabindex -- focused, it takes one-key answers
      tabIndex={0}
    >
      <header>
        <Standing request={request} />
        {place === "inbox" && <Origin request={request} />}
      </header>
      <h3 className="sentence" id={title}>
        {before}
        <em className="name">{name}</em>
        {after} {request.question}
      </h3>
      {request.subject !== "" && (
        <div className="subject" role="note" aria-label={t("request.subject")}>
          {request.subject}
        </div>
      )}
      {request.details.trim() !== "" && (
        <div className="details">
          <Markdown text={request.details} />
        </div>
      )}
      {request.may_answer &&
        (request.kind === "confirmation" ? (
          <ConfirmationForm request={request} answering={answering} card={card} />
        ) : (
          <InputForm request={request} answering={answering} title={title} />
        ))}
      {problem !== null && (
        <ErrorLine
          title={t("request.notSent")}
          {...(problem.again ? { action: { label: t("app.retry"), run: answering.retry } } : {})}
        >
          {problem.words} {t("request.kept")}
        </ErrorLine>
      )}
    </article>
  );
}

/** Whom it waits for, how long, and whom else it is put to. */
function Standing({ request }: { request: PersonRequest }) {
  const { t, locale } = useTexts();
  const me = useSession((state) => state.session?.account.id);
  const now = useNow(request.expires !== null);
  const words = [
    t(request.may_answer ? "request.needsYou" : "request.needsOthers"),
    expiry(request, now, t, locale),
    request.may_answer ? recipients(request, me, t) : null,
  ];
  return (
    <span className={request.may_answer ? "state wait" : "state"}>
      <Icon name="wait" />
      {words.filter((one) => one !== null).join(" · ")}
    </span>
  );
}

function Origin({ request }: { request: PersonRequest }) {
  const { t } = useTexts();
  const { thread, run } = request;
  return (
    <Link className="text-button push small" to={thread === null ? `/runs/${run}` : `/threads/${thread}`}>
      {t(thread === null ? "request.openRun" : "request.openChat")}
    </Link>
  );
}
