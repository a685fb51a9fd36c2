import type { ReactNode } from "react";
import type { ServerText } from "../api/types";
import { serverText } from "../i18n";
import type { RunModel } from "../log/run";
import { Markdown } from "../markdown/Markdown";
import { ErrorLine } from "../parts/ErrorLine";
import { Icon } from "../parts/Icon";
import { Skeleton } from "../parts/Skeleton";
import { useTexts } from "../parts/useTexts";
import { chatOf, type ChatAnswer, type ChatLine } from "./chat";
import { PayloadTree } from "./PayloadTree";

/** The chat as its person saw it, at the moment that is looked at. */
export function ChatPane({ model, choice }: { model: RunModel; choice: ReactNode }) {
  const { t } = useTexts();
  const lines = chatOf(model);
  const start = model.events[0];
  return (
    <section className="pane at-graph" aria-label={t("run.chat")}>
      <header>
        <h2 className="hidden">{t("run.chat")}</h2>
        {choice}
      </header>
      {/* eslint-disable-next-line jsx-a11y/no-noninteractive-tabindex -- a scrolling area is reached by keyboard */}
      <div className="scroll chat-then" tabIndex={0} role="group" aria-label={t("run.chatThen")}>
        {start === undefined && <Skeleton label={t("app.loading")} lines={4} />}
        {start !== undefined && lines[0]?.kind !== "said" && (
          <>
            <p className="small faint">{t("run.noChat")}</p>
            <PayloadTree data={start.data} label={t("run.payload")} />
          </>
        )}
        {lines.map((line, index) => (
          <Line key={index} line={line} />
        ))}
      </div>
    </section>
  );
}

function Line({ line }: { line: ChatLine }) {
  const { t, locale } = useTexts();
  switch (line.kind) {
    case "said":
      return (
        <div className="said">
          <p>{line.text}</p>
        </div>
      );
    case "answer":
      return (
        <div className="reply" role="article" aria-label={t("thread.answer")}>
          <Markdown text={line.text} />
          {line.state === "streaming" && <p className="small faint">{t("run.streaming")}</p>}
          {line.state === "interrupted" && <ErrorLine calm title={t("thread.brokeOff")} />}
        </div>
      );
    case "asked":
      return (
        <div className="reply asked" role="article" aria-label={t("thread.question")}>
          <p>
            <Icon name="wait" className="s" /> {serverText(line.text as ServerText, locale)}
          </p>
          <p className="small faint">{answered(line.answer, t)}</p>
        </div>
      );
    case "refused":
      return <ErrorLine calm title={line.text} />;
    case "failed":
      return <ErrorLine title={line.text}>{line.what}</ErrorLine>;
    case "further":
      return (
        <ul className="further-then" aria-label={t("thread.followUps")}>
          {line.questions.map((question) => (
            <li key={question}>
              <Icon name="follow" className="s" /> {question}
            </li>
          ))}
        </ul>
      );
  }
}

function answered(answer: ChatAnswer | null, t: ReturnType<typeof useTexts>["t"]): string {
  if (answer === null) return t("run.notAnswered");
  if ("timedOut" in answer) return t("request.timedOut");
  if ("text" in answer) return t("run.wasAnswered", { answer: answer.text });
  return t(answer.confirmed ? "run.wasConfirmed" : "run.wasDeclined");
}
