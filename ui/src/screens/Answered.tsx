import { useCallback, useEffect, useRef, useState } from "react";
import { Link } from "react-router";
import type { PersonRequest } from "../api/types";
import * as server from "../client/endpoints";
import type { Inbox } from "../log/inbox";
import { ErrorLine } from "../parts/ErrorLine";
import { Skeleton } from "../parts/Skeleton";
import { useTexts } from "../parts/useTexts";
import { ClosedRequest } from "../requests/ClosedRequest";
import { useAskers } from "../requests/useAskers";

interface AnsweredProps {
  /** Slug of an agent; empty for all. */
  profile: string;
  kind: string;
  /** What was closed since the page was opened: with each change, the list is read again. */
  closed: Inbox["closed"];
  onWaiting: () => void;
  /** Takes the filters away; null where there are none. */
  onAll: (() => void) | null;
}

interface Loaded {
  items: PersonRequest[];
  next: string | null;
}

/** The first page, and below it what was read before, where they meet. */
function renewed(known: Loaded | null, page: Loaded): Loaded {
  const first = new Set(page.items.map((one) => one.id));
  if (known?.items.some((one) => first.has(one.id)) !== true) return page;
  return { items: [...page.items, ...known.items.filter((one) => !first.has(one.id))], next: known.next };
}

/** What was answered, by the person or by others with access: what was answered last, first (U5). */
export function Answered({ profile, kind, closed, onWaiting, onAll }: AnsweredProps) {
  const { t } = useTexts();
  const [loaded, setLoaded] = useState<Loaded | null>(null);
  const [failed, setFailed] = useState(false);
  const latest = useRef(0);
  const read = useCallback(
    (before: Loaded | null) => {
      latest.current += 1;
      const asked = latest.current;
      server.readAnswered({ profile, kind }, before?.next ?? undefined).then(
        (page) => {
          if (asked !== latest.current) return;
          setFailed(false);
          setLoaded((known) =>
            before === null ? renewed(known, page) : { ...page, items: [...before.items, ...page.items] },
          );
        },
        () => asked === latest.current && setFailed(true),
      );
    },
    [profile, kind],
  );
  useEffect(() => {
    read(null);
    return () => {
      latest.current += 1;
    };
  }, [read, closed]);
  return (
    <section aria-label={t("inbox.answered")}>
      {loaded === null && !failed && <Skeleton label={t("inbox.answeredLoading")} lines={2} groups={3} />}
      {loaded !== null && (
        <ol className="waits done">
          {loaded.items.map((request) => (
            <AnsweredOne key={request.id} request={request} />
          ))}
        </ol>
      )}
      {loaded !== null && loaded.items.length === 0 && loaded.next === null && (
        <Nothing onWaiting={onWaiting} onAll={onAll} />
      )}
      {loaded?.next != null && (
        <button type="button" className="button quiet more" onClick={() => read(loaded)}>
          {t("inbox.more")}
        </button>
      )}
      {failed && (
        <ErrorLine
          title={t("inbox.answeredFailed")}
          action={{ label: t("app.retry"), run: () => read(loaded) }}
        />
      )}
    </section>
  );
}

function AnsweredOne({ request }: { request: PersonRequest }) {
  const { t } = useTexts();
  const name = useAskers()(request) ?? t("request.anAgent");
  return (
    <li className="answered">
      <ClosedRequest request={request} />
      <p className="acts">
        <span className="faint">{name}</span>
        {request.thread !== null && (
          <Link className="text-button" to={`/threads/${request.thread}`} aria-label={t("inbox.openChatOf", { question: request.question })}>
            {t("inbox.openChat")}
          </Link>
        )}
        <Link className="text-button" to={`/runs/${request.run}`} aria-label={t("inbox.openRunAsked", { question: request.question })}>
          {t("inbox.openRun")}
        </Link>
      </p>
    </li>
  );
}

function Nothing({ onWaiting, onAll }: Pick<AnsweredProps, "onWaiting" | "onAll">) {
  const { t } = useTexts();
  return (
    <div className="empty">
      <b>{t(onAll === null ? "inbox.answeredEmpty" : "inbox.answeredNone")}</b>
      {onAll === null && t("inbox.answeredEmptyHint")}
      <div>
        <button type="button" className="button" onClick={onAll ?? onWaiting}>
          {t(onAll === null ? "inbox.showWaiting" : "inbox.showAll")}
        </button>
      </div>
    </div>
  );
}
