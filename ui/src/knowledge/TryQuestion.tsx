import { useState, type SyntheticEvent } from "react";
import type { KnowledgeHit } from "../api/types";
import { ErrorLine } from "../parts/ErrorLine";
import { useTexts } from "../parts/useTexts";
import { useActing } from "./acting";
import * as server from "./endpoints";

/** The passages that an agent would get for a question, with their scores; no model takes part. */
export function TryQuestion({ collection }: { collection: string }) {
  const { t } = useTexts();
  const [question, setQuestion] = useState("");
  const [hits, setHits] = useState<readonly KnowledgeHit[] | null>(null);
  const { busy, problem, act } = useActing();
  const submit = (event: SyntheticEvent) => {
    event.preventDefault();
    if (question.trim() === "" || busy) return;
    act(async () => setHits((await server.searchKnowledge(collection, question.trim())).items));
  };
  return (
    <section className="try" aria-labelledby="try-title">
      <h2 id="try-title">{t("knowledge.tryTitle")}</h2>
      <p className="soft">{t("knowledge.tryHint")}</p>
      <form onSubmit={submit}>
        <input
          type="search"
          className="field"
          aria-label={t("knowledge.question")}
          placeholder={t("knowledge.question")}
          maxLength={2000}
          value={question}
          onChange={(event) => setQuestion(event.target.value)}
        />
        <button type="submit" className="button" disabled={busy || question.trim() === ""}>
          {t("knowledge.ask")}
        </button>
      </form>
      {problem !== null && <ErrorLine title={t("memory.notDone")}>{problem}</ErrorLine>}
      <div role="status">{hits?.length === 0 && <p className="soft">{t("knowledge.noHits")}</p>}</div>
      {hits !== null && hits.length > 0 && (
        <ol className="hits" aria-label={t("knowledge.hits")}>
          {hits.map((hit) => (
            <Hit key={hit.id} hit={hit} />
          ))}
        </ol>
      )}
    </section>
  );
}

function Hit({ hit }: { hit: KnowledgeHit }) {
  const { t } = useTexts();
  const where = hit.location ?? null;
  const place =
    where === null
      ? null
      : where.kind === "sheet" && where.name !== "" && where.first === where.last
        ? t("knowledge.sheet", { numbers: where.name })
        : t(`knowledge.${where.kind}`, {
            numbers: where.first === where.last ? `${where.first}` : `${where.first}–${where.last}`,
          });
  return (
    <li>
      <p className="meta">
        <b>{hit.title}</b>
        {place !== null && <span>{place}</span>}
        {hit.headings.length > 0 && <span>{hit.headings.join(" › ")}</span>}
        <span className="score">{t("knowledge.score", { score: hit.score.toFixed(4) })}</span>
      </p>
      <p className="passage">{hit.text}</p>
    </li>
  );
}
