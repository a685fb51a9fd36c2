import { useCallback, useEffect, useRef, useState, type DragEvent } from "react";
import { Link, useNavigate } from "react-router";
import type { Collection, KnowledgeDocument } from "../api/types";
import { Refused } from "../client/http";
import { bytes, dayOfMonth } from "../i18n/format";
import { AccessWords } from "../knowledge/AccessWords";
import { useActing, usePageTitle } from "../knowledge/acting";
import { TryQuestion } from "../knowledge/TryQuestion";
import * as server from "../knowledge/endpoints";
import { Choice } from "../parts/Choice";
import { ErrorLine } from "../parts/ErrorLine";
import { explain } from "../parts/explain";
import { Icon } from "../parts/Icon";
import { Skeleton } from "../parts/Skeleton";
import type { IconName } from "../parts/Sprite";
import { useTexts } from "../parts/useTexts";
import "../styles/knowledge.css";

/** While documents are read. */
const LOOK_AGAIN_MS = 1500;
const ENDINGS = ".pdf,.docx,.pptx,.xlsx,.html,.htm,.md,.markdown,.txt,.eml";

/** One collection: its documents with how far each has come, uploads, access, and a question to try (U11). */
export function CollectionScreen({ id }: { id: string }) {
  const { t } = useTexts();
  const found = useCollection(id);
  const { collection, documents, missing, failed, look } = found;
  usePageTitle(collection?.name ?? t("knowledge.title"));
  return (
    <main className="work knowledge" id="work" aria-labelledby="title">
      <header className="bar">
        <Link className="icon-button back" to="/knowledge" aria-label={t("knowledge.back")} title={t("knowledge.back")}>
          <Icon name="down" />
        </Link>
        <h1 id="title" tabIndex={-1}>
          {collection?.name ?? t("knowledge.title")}
        </h1>
      </header>
      {/* eslint-disable-next-line jsx-a11y/no-noninteractive-tabindex -- a scrolling area is reached by keyboard */}
      <div className="scroll" tabIndex={0} role="group" aria-label={collection?.name ?? t("knowledge.title")}>
        <div className="column">
          {missing && <div className="empty">{t("knowledge.gone")}</div>}
          {failed && <ErrorLine title={t("knowledge.failed")} action={{ label: t("app.retry"), run: look }} />}
          {collection === null && !failed && !missing && (
            <Skeleton label={t("knowledge.loading")} lines={2} groups={3} />
          )}
          {collection !== null && (
            <>
              <About collection={collection} look={look} />
              {collection.may_edit && <Upload collection={collection.id} look={look} />}
              <Documents collection={collection} documents={documents} found={found} />
              {collection.passages > 0 && <TryQuestion collection={collection.id} />}
              {collection.may_edit && <DeleteCollection collection={collection} />}
            </>
          )}
        </div>
      </div>
    </main>
  );
}

function About({ collection, look }: { collection: Collection; look: () => void }) {
  const { t } = useTexts();
  const { problem, act } = useActing();
  const given = collection.access ?? [];
  const share = (open: boolean) =>
    act(async () => {
      await server.changeCollection(collection.id, { access: open ? null : [] });
      look();
    });
  return (
    <div className="about">
      {collection.description !== "" && <p className="soft">{collection.description}</p>}
      <p className="meta">
        <span>{t("knowledge.documents", { count: collection.documents })}</span>
        <span>{t("knowledge.passages", { count: collection.passages })}</span>
        {(!collection.may_edit || given.length > 0) && <AccessWords collection={collection} />}
      </p>
      {collection.may_edit && given.length === 0 && (
        <Choice
          kind="radio"
          label={t("knowledge.access")}
          options={[
            { value: "mine", label: t("knowledge.mine") },
            { value: "everyone", label: t("knowledge.everyone") },
          ]}
          value={collection.is_open ? "everyone" : "mine"}
          onChange={(value) => share(value === "everyone")}
        />
      )}
      {problem !== null && <ErrorLine title={t("memory.notDone")}>{problem}</ErrorLine>}
    </div>
  );
}

function Upload({ collection, look }: { collection: string; look: () => void }) {
  const { t, locale } = useTexts();
  const chooser = useRef<HTMLInputElement>(null);
  const [sending, setSending] = useState<{ at: number; count: number } | null>(null);
  const [refused, setRefused] = useState<readonly { name: string; why: string }[]>([]);
  const [over, setOver] = useState(false);
  const send = async (files: readonly File[]) => {
    setRefused([]);
    for (const [place, file] of files.entries()) {
      setSending({ at: place + 1, count: files.length });
      try {
        await server.uploadDocument(collection, file);
      } catch (error) {
        setRefused((before) => [...before, { name: file.name, why: explain(error, t, locale) }]);
      }
      look();
    }
    setSending(null);
  };
  const onDrop = (event: DragEvent) => {
    event.preventDefault();
    setOver(false);
    if (sending === null) void send([...event.dataTransfer.files]);
  };
  return (
    <>
      {/* eslint-disable-next-line jsx-a11y/no-noninteractive-element-interactions -- there is a button, too */}
      <div
        className={over ? "dropzone over" : "dropzone"}
        role="group"
        aria-label={t("knowledge.upload")}
        onDragOver={(event) => {
          event.preventDefault();
          setOver(true);
        }}
        onDragLeave={() => setOver(false)}
        onDrop={onDrop}
      >
        <p className="soft">{t("knowledge.drop")}</p>
        <input
          ref={chooser}
          type="file"
          multiple
          hidden
          accept={ENDINGS}
          data-testid="files"
          onChange={(event) => {
            const files = [...(event.target.files ?? [])];
            event.target.value = "";
            void send(files);
          }}
        />
        <button
          type="button"
          className="button primary"
          disabled={sending !== null}
          onClick={() => chooser.current?.click()}
        >
          {sending === null ? t("knowledge.upload") : t("knowledge.uploading", sending)}
        </button>
      </div>
      {refused.map(({ name, why }) => (
        <ErrorLine key={name} title={t("knowledge.refused", { name })}>
          {why}
        </ErrorLine>
      ))}
    </>
  );
}

type Found = ReturnType<typeof useCollection>;

interface DocumentsProps {
  collection: Collection;
  documents: readonly KnowledgeDocument[];
  found: Found;
}

function Documents({ collection, documents, found }: DocumentsProps) {
  const { t } = useTexts();
  if (documents.length === 0) return <div className="empty">{t("knowledge.noDocuments")}</div>;
  return (
    <>
      <table className="documents">
        <thead>
          <tr>
            <th scope="col">{t("knowledge.document")}</th>
            <th scope="col">{t("knowledge.state")}</th>
            <th scope="col" className="fresh">
              {t("knowledge.updatedHead")}
            </th>
            {collection.may_edit && <td />}
          </tr>
        </thead>
        <tbody>
          {documents.map((document) => (
            <DocumentRow key={document.id} document={document} mayEdit={collection.may_edit} look={found.look} />
          ))}
        </tbody>
      </table>
      {found.next !== null && (
        <button type="button" className="button more" onClick={found.more}>
          {t("list.more")}
        </button>
      )}
    </>
  );
}

const STATES: Record<KnowledgeDocument["state"], { icon: IconName; kind: string; word: "waiting" | "working" | "ready" | "broken" }> = {
  waiting: { icon: "wait", kind: "", word: "waiting" },
  working: { icon: "wait", kind: "working", word: "working" },
  ready: { icon: "done", kind: "ok", word: "ready" },
  failed: { icon: "failed", kind: "fail", word: "broken" },
};

function DocumentRow({
  document,
  mayEdit,
  look,
}: {
  document: KnowledgeDocument;
  mayEdit: boolean;
  look: () => void;
}) {
  const { t, locale } = useTexts();
  const [asking, setAsking] = useState(false);
  const { busy, problem, act } = useActing();
  const { icon, kind, word } = STATES[document.state];
  const does = (work: () => Promise<unknown>) =>
    act(async () => {
      await work();
      look();
    });
  return (
    <tr>
      <th scope="row">
        <a href={server.originalOf(document.id)} download>
          {document.name}
        </a>
        <span className="meta">
          <span>{bytes(document.size_bytes, locale)}</span>
          {document.passages > 0 && <span>{t("knowledge.passages", { count: document.passages })}</span>}
        </span>
        {document.failure !== null && (
          <span className="why">
            {document.failure.message} {document.failure.what_to_do}{" "}
            {mayEdit && (
              <button
                type="button"
                className="text-button accent"
                aria-label={t("knowledge.retryOf", { name: document.name })}
                disabled={busy}
                onClick={() => does(() => server.retryDocument(document.id))}
              >
                {t("knowledge.retry")}
              </button>
            )}
          </span>
        )}
        {asking && (
          <span className="asking" role="group" aria-label={t("knowledge.deleteOf", { name: document.name })}>
            <span>{t("knowledge.deleteAsk", { name: document.name })}</span>
            <button
              type="button"
              className="button"
              disabled={busy}
              onClick={() => does(() => server.deleteDocument(document.id))}
            >
              {t("memory.delete")}
            </button>
            <button type="button" className="button quiet" ref={focusButton} onClick={() => setAsking(false)}>
              {t("memory.keep")}
            </button>
          </span>
        )}
        {problem !== null && <ErrorLine title={t("memory.notDone")}>{problem}</ErrorLine>}
      </th>
      <td>
        <span className={`state ${kind}`} title={t("knowledge.reached", { stage: t(`knowledge.${document.stage}`) })}>
          <Icon name={icon} />
          {t(`knowledge.${word}`)}
        </span>
        {document.state !== "ready" && <span className="stage">{t(`knowledge.${document.stage}`)}</span>}
      </td>
      <td className="fresh">{dayOfMonth(document.updated, locale)}</td>
      {mayEdit && (
        <td className="acts">
          <button
            type="button"
            className="icon-button s"
            aria-label={t("knowledge.deleteOf", { name: document.name })}
            title={t("memory.delete")}
            onClick={() => setAsking(true)}
          >
            <Icon name="trash" />
          </button>
        </td>
      )}
    </tr>
  );
}

function focusButton(button: HTMLButtonElement | null): void {
  button?.focus();
}

function DeleteCollection({ collection }: { collection: Collection }) {
  const { t } = useTexts();
  const [asking, setAsking] = useState(false);
  const { busy, problem, act } = useActing();
  const go = useNavigate();
  return (
    <footer className="all">
      {asking ? (
        <div className="asking" role="group" aria-label={t("knowledge.deleteCollection")}>
          <span>{t("knowledge.deleteCollectionAsk", { count: collection.documents })}</span>
          <button
            type="button"
            className="button"
            disabled={busy}
            onClick={() =>
              act(async () => {
                await server.deleteCollection(collection.id);
                void go("/knowledge");
              })
            }
          >
            {t("memory.delete")}
          </button>
          <button type="button" className="button quiet" ref={focusButton} onClick={() => setAsking(false)}>
            {t("memory.keep")}
          </button>
        </div>
      ) : (
        <button type="button" className="button quiet" onClick={() => setAsking(true)}>
          <Icon name="trash" />
          {t("knowledge.deleteCollection")}
        </button>
      )}
      {problem !== null && <ErrorLine title={t("memory.notDone")}>{problem}</ErrorLine>}
    </footer>
  );
}

function useCollection(id: string) {
  const [collection, setCollection] = useState<Collection | null>(null);
  const [documents, setDocuments] = useState<readonly KnowledgeDocument[]>([]);
  const [next, setNext] = useState<string | null>(null);
  const [missing, setMissing] = useState(false);
  const [failed, setFailed] = useState(false);
  const wanted = useRef(0);
  const shown = useRef(100);
  const look = useCallback(() => {
    const mine = ++wanted.current;
    Promise.all([server.readCollection(id), server.listDocuments(id, undefined, shown.current)]).then(
      ([about, page]) => {
        if (wanted.current !== mine) return;
        setFailed(false);
        setCollection(about);
        setDocuments(page.items);
        setNext(page.next ?? null);
      },
      (error: unknown) => {
        if (wanted.current !== mine) return;
        if (error instanceof Refused && error.status === 404) setMissing(true);
        else setFailed(true);
      },
    );
  }, [id]);
  useEffect(() => {
    look();
    return () => {
      wanted.current += 1;
    };
  }, [look]);
  const reading = (collection?.pending ?? 0) > 0;
  useEffect(() => {
    if (!reading) return undefined;
    const timer = setInterval(look, LOOK_AGAIN_MS);
    return () => clearInterval(timer);
  }, [reading, look]);
  const more = () => {
    if (next === null) return;
    const mine = ++wanted.current;
    server.listDocuments(id, next).then(
      (page) => {
        if (wanted.current !== mine) return;
        shown.current = Math.min(200, shown.current + page.items.length);
        setDocuments((before) => [...before, ...page.items]);
        setNext(page.next ?? null);
      },
      () => setFailed(true),
    );
  };
  return { collection, documents, next, missing, failed, look, more };
}
