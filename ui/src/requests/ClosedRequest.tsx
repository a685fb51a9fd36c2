import type { PersonRequest } from "../api/types";
import { CopyButton } from "../parts/CopyButton";
import { ErrorLine } from "../parts/ErrorLine";
import { Icon } from "../parts/Icon";
import type { IconName } from "../parts/Sprite";
import { useNow } from "../parts/useNow";
import { useTexts } from "../parts/useTexts";
import { readDraft } from "../store/drafts";
import { useInbox } from "../store/inbox";
import { useSession } from "../store/session";
import { draftOf } from "./useAnswering";
import { lateWords, outcome, when } from "./words";

/** One line: who said what when. What the person had typed and could not send any more stays under it. */
export function ClosedRequest({ request }: { request: PersonRequest }) {
  const { t, locale } = useTexts();
  const me = useSession((state) => state.session?.account.id);
  const code = useInbox((state) => state.late[request.id]);
  const now = useNow(false);
  const late = code === undefined ? null : lateWords(code, t);
  const written = readDraft(draftOf(request.id)).trim();
  const standard = typeof request.default === "string" ? request.default.trim() : "";
  return (
    <>
      <p className="asked" role="note">
        <Icon name={iconOf(request)} />
        <span className="words" title={request.question}>
          {outcome(request, me, t)} <span className="faint">· {request.question}</span>
        </span>
        {request.closed !== null && <time dateTime={request.closed}>{when(request.closed, now, locale)}</time>}
      </p>
      {late !== null && <ErrorLine title={late} />}
      {written !== "" && written !== standard && (
        <div className="unsent">
          <span className="faint">{t("request.written")}</span> {written}
          <CopyButton label={t("thread.copy")} text={() => written} />
        </div>
      )}
    </>
  );
}

function iconOf({ status, kind, answer }: PersonRequest): IconName {
  if (status !== "answered") return status === "timed_out" ? "wait" : "halt";
  return kind === "confirmation" && answer?.confirmed === false ? "x" : "done";
}
