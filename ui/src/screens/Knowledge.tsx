import { useCallback, useEffect, useRef, useState, type SyntheticEvent } from "react";
import { Link, useNavigate, useParams } from "react-router";
import type { Collection, KnowledgeList } from "../api/types";
import { dayOfMonth } from "../i18n/format";
import { AccessWords } from "../knowledge/AccessWords";
import { useActing, usePageTitle } from "../knowledge/acting";
import * as server from "../knowledge/endpoints";
import { ErrorLine } from "../parts/ErrorLine";
import { Icon } from "../parts/Icon";
import { Skeleton } from "../parts/Skeleton";
import { useTexts } from "../parts/useTexts";
import { CollectionScreen } from "./Collection";
import "../styles/knowledge.css";

/** While documents are read somewhere. */
const LOOK_AGAIN_MS = 3000;

/** All collections, or one. */
export function KnowledgeScreen() {
  const { id } = useParams();
  return id === undefined ? <Collections /> : <CollectionScreen key={id} id={id} />;
}

/** The collections that the person may read, with what is in them and how fresh it is (U11). */
function Collections() {
  const { t } = useTexts();
  const { list, failed, look } = useCollections();
  const [making, setMaking] = useState(false);
  const title = t("knowledge.title");
  usePageTitle(title);
  return (
    <main className="work knowledge" id="work" aria-labelledby="title">
      <header className="bar">
        <h1 id="title" tabIndex={-1}>
          {title}
        </h1>
        {list?.may_create === true && list.items.length > 0 && !making && (
          <div className="end">
            <button type="button" className="button" onClick={() => setMaking(true)}>
              {t("knowledge.new")}
            </button>
          </div>
        )}
      </header>
      {/* eslint-disable-next-line jsx-a11y/no-noninteractive-tabindex -- a scrolling area is reached by keyboard */}
      <div className="scroll" tabIndex={0} role="group" aria-label={title}>
        <div className="column">
          <p className="soft">{t("knowledge.about")}</p>
          {making && <Making onLeave={() => setMaking(false)} />}
          {failed && <ErrorLine title={t("knowledge.failed")} action={{ label: t("app.retry"), run: look }} />}
          {list === null && !failed && <Skeleton label={t("knowledge.loading")} lines={2} groups={3} />}
          {list !== null && list.items.length > 0 && (
            <ul className="collections" aria-label={t("knowledge.list")}>
              {list.items.map((collection) => (
                <Row key={collection.id} collection={collection} />
              ))}
            </ul>
          )}
          {list !== null && list.items.length === 0 && !making && (
            <div className="empty">
              <b>{t("knowledge.empty")}</b>
              {t("knowledge.emptyHint")}
              <br />
              {list.may_create ? (
                <button type="button" className="button" onClick={() => setMaking(true)}>
                  {t("knowledge.new")}
                </button>
              ) : (
                t("knowledge.emptyForOthers")
              )}
            </div>
          )}
        </div>
      </div>
    </main>
  );
}

function Row({ collection }: { collection: Collection }) {
  const { t, locale } = useTexts();
  return (
    <li>
      <Link className="collection" to={`/knowledge/${collection.id}`}>
        <span className="name">
          <b>{collection.name}</b>
          {collection.description !== "" && <span className="soft">{collection.description}</span>}
        </span>
        <span className="meta">
          <AccessWords collection={collection} />
          <span>{t("knowledge.documents", { count: collection.documents })}</span>
          {collection.passages > 0 && <span>{t("knowledge.passages", { count: collection.passages })}</span>}
          {collection.updated !== null && (
            <span>{t("knowledge.updated", { date: dayOfMonth(collection.updated, locale) })}</span>
          )}
          {collection.pending > 0 && (
            <span className="state working">
              <Icon name="wait" />
              {t("knowledge.pending", { count: collection.pending })}
            </span>
          )}
          {collection.failed > 0 && (
            <span className="state fail">
              <Icon name="failed" />
              {t("knowledge.failedCount", { count: collection.failed })}
            </span>
          )}
        </span>
      </Link>
    </li>
  );
}

function Making({ onLeave }: { onLeave: () => void }) {
  const { t } = useTexts();
  const [name, setName] = useState("");
  const { busy, problem, act } = useActing();
  const go = useNavigate();
  const submit = (event: SyntheticEvent) => {
    event.preventDefault();
    if (name.trim() === "" || busy) return;
    act(async () => {
      const made = await server.createCollection({ name: name.trim(), access: [] });
      void go(`/knowledge/${made.id}`);
    });
  };
  return (
    <form className="making" onSubmit={submit}>
      <input
        className="field"
        aria-label={t("knowledge.name")}
        placeholder={t("knowledge.name")}
        maxLength={120}
        value={name}
        ref={focusIt}
        onChange={(event) => setName(event.target.value)}
        onKeyDown={(event) => {
          if (event.key === "Escape") onLeave();
        }}
      />
      <button type="submit" className="button primary" disabled={busy || name.trim() === ""}>
        {t("knowledge.create")}
      </button>
      <button type="button" className="button quiet" onClick={onLeave}>
        {t("memory.cancel")}
      </button>
      {problem !== null && <ErrorLine title={t("memory.notDone")}>{problem}</ErrorLine>}
    </form>
  );
}

/** The cursor stands in the field once, when it appears. */
function focusIt(field: HTMLInputElement | null): void {
  field?.focus();
}

function useCollections() {
  const [list, setList] = useState<KnowledgeList | null>(null);
  const [failed, setFailed] = useState(false);
  const here = useRef(true);
  const look = useCallback(() => {
    server.listCollections().then(
      (answer) => {
        if (!here.current) return;
        setFailed(false);
        setList(answer);
      },
      () => {
        if (here.current) setFailed(true);
      },
    );
  }, []);
  useEffect(() => {
    here.current = true;
    look();
    return () => {
      here.current = false;
    };
  }, [look]);
  const reading = list?.items.some((collection) => collection.pending > 0) ?? false;
  useEffect(() => {
    if (!reading) return undefined;
    const timer = setInterval(look, LOOK_AGAIN_MS);
    return () => clearInterval(timer);
  }, [reading, look]);
  return { list, failed, look };
}
