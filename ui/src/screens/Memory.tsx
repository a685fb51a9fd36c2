import { useCallback, useEffect, useRef, useState, type SyntheticEvent } from "react";
import { Link } from "react-router";
import type { Memory } from "../api/types";
import * as server from "../client/endpoints";
import { dayOfMonth, monthAndYear } from "../i18n/format";
import { ErrorLine } from "../parts/ErrorLine";
import { explain } from "../parts/explain";
import { Icon } from "../parts/Icon";
import { Skeleton } from "../parts/Skeleton";
import { useTexts } from "../parts/useTexts";
import "../styles/memory.css";

const MOST_CHARACTERS = 2000;
/** So long nothing was typed before it is searched. */
const TYPING_MS = 250;
/** As many as need no search. */
const FEW = 8;

/** What agents remember about the person: listed with its source, edited in place, deleted, exported (U14). */
export function MemoryScreen() {
  const { t } = useTexts();
  const found = useMemories();
  const { items, total, most, typed, failed, look } = found;
  const title = t("memory.title");
  useEffect(() => {
    document.title = `${title} · Planwerk`;
    return () => {
      document.title = "Planwerk";
    };
  }, [title]);
  return (
    <main className="work memory" id="work" aria-labelledby="title">
      <header className="bar">
        <h1 id="title" tabIndex={-1}>
          {title}
        </h1>
        {total > 0 && (
          <div className="end">
            <a className="button quiet" href={server.MEMORY_EXPORT} download>
              <Icon name="save" />
              {t("memory.export")}
            </a>
          </div>
        )}
      </header>
      {/* eslint-disable-next-line jsx-a11y/no-noninteractive-tabindex -- a scrolling area is reached by keyboard */}
      <div className="scroll" tabIndex={0} role="group" aria-label={title}>
        <div className="column">
          <p className="soft">{t("memory.about")}</p>
          {most > 0 && total >= most && <p className="notice">{t("memory.full", { most })}</p>}
          {(total > FEW || typed !== "") && <Search found={found} />}
          {failed && <ErrorLine title={t("memory.failed")} action={{ label: t("app.retry"), run: look }} />}
          {items === null && !failed && <Skeleton label={t("memory.loading")} lines={2} groups={3} />}
          {items !== null && <List found={found} items={items} />}
          <p className="hidden" role="status">
            {found.told}
          </p>
        </div>
      </div>
    </main>
  );
}

type Found = ReturnType<typeof useMemories>;

function List({ found, items }: { found: Found; items: readonly Memory[] }) {
  const { t } = useTexts();
  if (items.length === 0) {
    return found.query !== "" ? (
      <div className="empty">
        {t("memory.none", { query: found.query })}{" "}
        <button type="button" className="text-button accent" onClick={found.showAll}>
          {t("memory.showAll")}
        </button>
      </div>
    ) : (
      <div className="empty">
        <b>{t("memory.empty")}</b>
        {t("memory.emptyHint")}
        <br />
        <Link className="button" to="/">
          {t("memory.emptyButton")}
        </Link>
      </div>
    );
  }
  return (
    <>
      <ul className="memories" aria-label={t("memory.list")}>
        {items.map((memory) => (
          <Item key={memory.id} memory={memory} found={found} />
        ))}
      </ul>
      {found.next !== null && (
        <button type="button" className="button more" onClick={found.more}>
          {t("memory.more")}
        </button>
      )}
      {found.query === "" && <DeleteAll found={found} />}
    </>
  );
}

function useMemories() {
  const { t } = useTexts();
  const [items, setItems] = useState<readonly Memory[] | null>(null);
  const [page, setPage] = useState({ total: 0, most: 0, next: null as string | null });
  const [typed, setTyped] = useState("");
  /** What was typed, once the person pauses. */
  const [query, setQuery] = useState("");
  const [failed, setFailed] = useState(false);
  /** What a screen reader is told of the last change. */
  const [told, setTold] = useState("");
  const wanted = useRef(0);
  const fetchPage = useCallback((words: string, cursor?: string) => {
    const mine = ++wanted.current;
    server.listMemories(words, cursor).then(
      (answer) => {
        if (wanted.current !== mine) return;
        setFailed(false);
        setPage({ total: answer.total, most: answer.most, next: answer.next ?? null });
        setItems((before) => (cursor === undefined ? answer.items : [...(before ?? []), ...answer.items]));
      },
      () => {
        if (wanted.current === mine) setFailed(true);
      },
    );
  }, []);
  useEffect(() => {
    fetchPage(query);
    return () => {
      wanted.current += 1;
    };
  }, [fetchPage, query]);
  useEffect(() => {
    const timer = setTimeout(() => setQuery(typed.trim()), TYPING_MS);
    return () => clearTimeout(timer);
  }, [typed]);
  const toTitle = () => document.getElementById("title")?.focus();
  return {
    items,
    ...page,
    query,
    failed,
    told,
    look: () => fetchPage(query),
    typed,
    type: setTyped,
    showAll: () => {
      setTyped("");
      setQuery("");
    },
    more: () => page.next !== null && fetchPage(query, page.next),
    changed: (memory: Memory) => {
      setItems((before) => before?.map((one) => (one.id === memory.id ? memory : one)) ?? null);
      setTold(t("memory.saved"));
    },
    gone: (memory: Memory) => {
      setItems((before) => before?.filter((one) => one.id !== memory.id) ?? null);
      setPage((before) => ({ ...before, total: before.total - 1 }));
      setTold(t("memory.deleted"));
      toTitle();
    },
    allGone: () => {
      setItems([]);
      setPage((before) => ({ ...before, total: 0, next: null }));
      setTold(t("memory.deleted"));
      toTitle();
    },
  };
}

function Search({ found }: { found: Found }) {
  const { t } = useTexts();
  return (
    <input
      type="search"
      className="field"
      aria-label={t("memory.search")}
      placeholder={t("memory.search")}
      maxLength={500}
      value={found.typed}
      onChange={(event) => found.type(event.target.value)}
    />
  );
}

type Doing = "nothing" | "editing" | "asking";

function Item({ memory, found }: { memory: Memory; found: Found }) {
  const { t } = useTexts();
  const [doing, setDoing] = useState<Doing>("nothing");
  const { busy, problem, act, forget } = useActing();
  /** Back on the button that was pressed. */
  const back = useRef<"edit" | "delete" | null>(null);
  const leave = () => {
    back.current = doing === "editing" ? "edit" : "delete";
    forget();
    setDoing("nothing");
  };
  const focus = (which: "edit" | "delete") => (button: HTMLButtonElement | null) => {
    if (button === null || back.current !== which) return;
    back.current = null;
    button.focus();
  };
  const save = (text: string) => {
    if (text === memory.text) {
      leave();
      return;
    }
    act(async () => {
      found.changed(await server.changeMemory(memory.id, text));
      leave();
    });
  };
  return (
    <li className="remembered">
      {doing === "editing" ? (
        <Editing memory={memory} busy={busy} onSave={save} onLeave={leave} />
      ) : (
        <>
          <p className="text">{memory.text}</p>
          <Source memory={memory} />
        </>
      )}
      {doing === "nothing" && (
        <div className="acts">
          <button
            type="button"
            className="icon-button s"
            aria-label={t("memory.editOf", { text: memory.text })}
            title={t("memory.edit")}
            ref={focus("edit")}
            onClick={() => setDoing("editing")}
          >
            <Icon name="pencil" />
          </button>
          <button
            type="button"
            className="icon-button s"
            aria-label={t("memory.deleteOf", { text: memory.text })}
            title={t("memory.delete")}
            ref={focus("delete")}
            onClick={() => setDoing("asking")}
          >
            <Icon name="trash" />
          </button>
        </div>
      )}
      {doing === "asking" && (
        <Asking
          question={t("memory.deleteAsk")}
          yes={t("memory.delete")}
          busy={busy}
          onYes={() =>
            act(async () => {
              await server.deleteMemory(memory.id);
              found.gone(memory);
            })
          }
          onNo={leave}
        />
      )}
      {problem !== null && <ErrorLine title={t("memory.notDone")}>{problem}</ErrorLine>}
    </li>
  );
}

/** Where it was said, as a way there, and when. */
function Source({ memory }: { memory: Memory }) {
  const { t, locale } = useTexts();
  const { source } = memory;
  const day = (time: string) =>
    new Date(time).getFullYear() === new Date().getFullYear() ? dayOfMonth(time, locale) : monthAndYear(time, locale);
  return (
    <p className="meta">
      {source?.thread != null ? (
        <Link to={`/threads/${source.thread}`}>{t("memory.said", { title: source.title ?? t("list.untitled") })}</Link>
      ) : (
        source !== null && <Link to={`/runs/${source.run}`}>{t("memory.saidInRun")}</Link>
      )}
      <span>{day(memory.created)}</span>
      {memory.updated !== memory.created && <span>{t("memory.edited", { date: day(memory.updated) })}</span>}
    </p>
  );
}

interface EditingProps {
  memory: Memory;
  busy: boolean;
  onSave: (text: string) => void;
  onLeave: () => void;
}

/** In its place: Enter keeps, Escape leaves it as it was. */
function Editing({ memory, busy, onSave, onLeave }: EditingProps) {
  const { t } = useTexts();
  const [draft, setDraft] = useState(memory.text);
  const text = draft.trim();
  const submit = (event: SyntheticEvent) => {
    event.preventDefault();
    if (text !== "" && !busy) onSave(text);
  };
  return (
    <form className="editing" onSubmit={submit}>
      <textarea
        className="field"
        aria-label={t("memory.text")}
        maxLength={MOST_CHARACTERS}
        rows={2}
        value={draft}
        ref={focusOnce}
        onChange={(event) => setDraft(event.target.value)}
        onKeyDown={(event) => {
          if (event.key === "Escape") onLeave();
          if (event.key === "Enter" && !event.shiftKey && !event.nativeEvent.isComposing) submit(event);
        }}
      />
      <div className="acts">
        <button type="submit" className="button primary" disabled={busy || text === ""}>
          {t("memory.save")}
        </button>
        <button type="button" className="button quiet" onClick={onLeave}>
          {t("memory.cancel")}
        </button>
      </div>
    </form>
  );
}

/** The cursor stands at the end of what is to be changed. */
function focusOnce(area: HTMLTextAreaElement | null): void {
  if (area === null || area === document.activeElement) return;
  area.focus();
  area.setSelectionRange(area.value.length, area.value.length);
}

interface AskingProps {
  question: string;
  yes: string;
  busy: boolean;
  onYes: () => void;
  onNo: () => void;
}

/** What cannot be taken back is asked first, where it stands. */
function Asking({ question, yes, busy, onYes, onNo }: AskingProps) {
  const { t } = useTexts();
  return (
    // eslint-disable-next-line jsx-a11y/no-noninteractive-element-interactions -- Escape is a way out, not the only one
    <div
      className="asking"
      role="group"
      aria-label={question}
      onKeyDown={(event) => {
        if (event.key === "Escape") onNo();
      }}
    >
      <span>{question}</span>
      <button type="button" className="button" disabled={busy} onClick={onYes}>
        {yes}
      </button>
      <button type="button" className="button quiet" ref={focusIt} onClick={onNo}>
        {t("memory.keep")}
      </button>
    </div>
  );
}

function focusIt(button: HTMLButtonElement | null): void {
  button?.focus();
}

function DeleteAll({ found }: { found: Found }) {
  const { t } = useTexts();
  const [asking, setAsking] = useState(false);
  const { busy, problem, act } = useActing();
  const back = useRef(false);
  return (
    <footer className="all">
      {asking ? (
        <Asking
          question={t("memory.deleteAllAsk", { count: found.total })}
          yes={t("memory.deleteAllYes")}
          busy={busy}
          onYes={() =>
            act(async () => {
              await server.deleteMemories();
              found.allGone();
            })
          }
          onNo={() => {
            back.current = true;
            setAsking(false);
          }}
        />
      ) : (
        <>
          <span className="faint">{t("memory.count", { count: found.total })}</span>
          <button
            type="button"
            className="button quiet"
            ref={(button) => {
              if (button === null || !back.current) return;
              back.current = false;
              button.focus();
            }}
            onClick={() => setAsking(true)}
          >
            <Icon name="trash" />
            {t("memory.deleteAll")}
          </button>
        </>
      )}
      {problem !== null && <ErrorLine title={t("memory.notDone")}>{problem}</ErrorLine>}
    </footer>
  );
}

/** Does what a button asks for, one thing at a time. */
function useActing() {
  const { t, locale } = useTexts();
  const [busy, setBusy] = useState(false);
  const [problem, setProblem] = useState<string | null>(null);
  const act = (work: () => Promise<unknown>) => {
    setBusy(true);
    setProblem(null);
    work()
      .catch((error: unknown) => setProblem(explain(error, t, locale)))
      .finally(() => setBusy(false));
  };
  return { busy, problem, act, forget: () => setProblem(null) };
}
