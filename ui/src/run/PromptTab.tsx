import { useEffect, useState } from "react";
import type { Prompt } from "../api/types";
import * as server from "../client/endpoints";
import type { Execution, ModelCall } from "../log/run";
import { CopyButton } from "../parts/CopyButton";
import { ErrorLine } from "../parts/ErrorLine";
import { explain } from "../parts/explain";
import { Skeleton } from "../parts/Skeleton";
import { useTexts } from "../parts/useTexts";
import { linesOf, type PromptLine } from "./prompt";

interface PromptTabProps {
  run: string;
  execution: Execution | undefined;
}

/** What the models that a step called were sent, and what they said. */
export function PromptTab({ run, execution }: PromptTabProps) {
  const { t } = useTexts();
  if (execution === undefined) return <p className="small faint">{t("run.nothing")}</p>;
  return (
    <>
      <h2 className="event-name mono">{execution.step}</h2>
      {execution.calls.length === 0 && <p className="small faint">{t("run.noModel")}</p>}
      {execution.calls.map((call) => (
        <OneCall key={`${run} ${call.position}`} run={run} call={call} />
      ))}
    </>
  );
}

type Found = Prompt | { error: unknown } | null;

function OneCall({ run, call }: { run: string; call: ModelCall }) {
  const { t, locale } = useTexts();
  const [found, setFound] = useState<Found>(null);
  const { position, hasPrompt } = call;
  useEffect(() => {
    if (!hasPrompt) return undefined;
    let left = false;
    server.readPrompt(run, position).then(
      (prompt) => left || setFound(prompt),
      (error: unknown) => left || setFound({ error }),
    );
    return () => {
      left = true;
    };
  }, [run, position, hasPrompt]);
  const lines = found === null || "error" in found ? [] : linesOf(found.messages);
  return (
    <section className="prompt" aria-label={t("run.callOf", { model: call.model })}>
      <div className="sub-head">
        <h3>
          <span className="mono">{call.model}</span> <span className="faint">{call.task === "" ? t("run.answer") : call.task}</span>
        </h3>
        {lines.length > 0 && <CopyButton label={t("run.copy")} text={() => lines.map(({ text }) => text).join("\n\n")} />}
      </div>
      {!hasPrompt && <p className="small faint">{t("run.promptNotKept")}</p>}
      {hasPrompt && found === null && <Skeleton label={t("app.loading")} lines={3} />}
      {found !== null && "error" in found && <ErrorLine title={t("run.promptFailed")}>{explain(found.error, t, locale)}</ErrorLine>}
      {found !== null && !("error" in found) && found.is_masked && (
        <p className="small faint">{t(lines.length === 0 ? "run.promptHidden" : "run.promptMasked")}</p>
      )}
      {lines.map((line, index) => (
        <Line key={index} line={line} />
      ))}
    </section>
  );
}

function Line({ line: { role, name, text } }: { line: PromptLine }) {
  const { t } = useTexts();
  return (
    <div className={`piece ${role}`}>
      <p className="small faint">
        {t(`run.role.${role}`)} {name !== null && <span className="mono">{name}</span>}
      </p>
      <pre>{text}</pre>
    </div>
  );
}
