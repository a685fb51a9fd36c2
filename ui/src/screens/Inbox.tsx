import { useEffect, useLayoutEffect, useRef, useState } from "react";
import { Link, useSearchParams } from "react-router";
import type { PersonRequest, ScheduleFailure } from "../api/types";
import { clock, dayOfMonth, sameDay } from "../i18n/format";
import { closedRequests, sortedInbox } from "../log/inbox";
import { ErrorLine } from "../parts/ErrorLine";
import { Icon } from "../parts/Icon";
import { Skeleton } from "../parts/Skeleton";
import type { IconName } from "../parts/Sprite";
import { useNow } from "../parts/useNow";
import { useTexts } from "../parts/useTexts";
import { ClosedRequest } from "../requests/ClosedRequest";
import { RequestCard } from "../requests/RequestCard";
import { useAskers } from "../requests/useAskers";
import { askedBy, expiry } from "../requests/words";
import { loadInbox, useInbox } from "../store/inbox";
import { usePreferences } from "../store/preferences";
import { Answered } from "./Answered";
import { Failures } from "./Failures";
import "../styles/inbox.css";

/** How many requests are drawn before the reader asks for more. */
const DRAWN = 50;
/** What comes by no stream, of runs outside this workspace's chats, is looked for so often while the screen is open. */
const LOOK_AGAIN_MS = 30_000;
const NOTHING = "";

const KINDS = ["input", "confirmation", "chat", "schedule"] as const;
type Kind = (typeof KINDS)[number];
const KIND_ICONS: Record<Kind, IconName> = {
  input: "question",
  confirmation: "approve",
  chat: "chat",
  schedule: "alert",
};

/** What of the inbox is shown; it stands in the address. */
interface Wanted {
  /** Slug of an agent; empty for all. */
  profile: string;
  kind: Kind | typeof NOTHING;
  /** What was answered instead of what waits. */
  answered: boolean;
}

const ALL: Wanted = { profile: NOTHING, kind: NOTHING, answered: false };

function wantedIn(search: URLSearchParams): Wanted {
  return {
    profile: search.get("profile") ?? NOTHING,
    kind: KINDS.find((one) => one === search.get("kind")) ?? NOTHING,
    answered: search.get("view") === "answered",
  };
}

function addressOf({ profile, kind, answered }: Wanted): Record<string, string> {
  return {
    ...(answered && { view: "answered" }),
    ...(kind !== NOTHING && { kind }),
    ...(profile !== NOTHING && { profile }),
  };
}

function fits(profile: string | null, kind: Kind, wanted: Wanted): boolean {
  return [NOTHING, profile].includes(wanted.profile) && [NOTHING, kind].includes(wanted.kind);
}

/** Everything that waits for the person; answered here, without leaving the list. */
export function InboxScreen() {
  const { t, locale } = useTexts();
  const inbox = useInbox((state) => state.inbox);
  const loading = useInbox((state) => state.loading);
  const [search, setSearch] = useSearchParams();
  const wanted = wantedIn(search);
  const { profile, kind, answered } = wanted;
  const filtered = profile !== NOTHING || kind !== NOTHING;
  const all = sortedInbox(inbox);
  const shown = all.filter((one) => fits(one.profile, one.kind, wanted));
  const done = closedRequests(inbox).filter((one) => fits(one.profile, one.kind, wanted));
  const failed = useInbox((state) => state.failures);
  const failures = failed.filter((one) => fits(one.profile, "schedule", wanted));
  const total = all.length + failed.length;
  const title = answered ? t("inbox.answered") : t("inbox.title", { count: shown.length + failures.length });
  useEffect(() => {
    void loadInbox();
    const timer = setInterval(() => {
      if (document.visibilityState === "visible") void loadInbox();
    }, LOOK_AGAIN_MS);
    return () => clearInterval(timer);
  }, [locale]);
  useEffect(() => {
    document.title = `${title} · Planwerk`;
    return () => {
      document.title = "Planwerk";
    };
  }, [title]);
  const change = (next: Partial<Wanted>) => setSearch(addressOf({ ...wanted, ...next }), { replace: true });
  const agents = agentsOf(all, failed, profile, useAskers());
  const kinds = kindsOf(all, failed, kind);
  const ready = loading === "ready" || all.length > 0;
  const filter = { total, kinds, agents, wanted, onChange: change };
  return (
    <>
      <Filter {...filter} />
      <main className="work inbox" id="work" aria-labelledby="title">
        <Bar title={ready || answered ? title : t("nav.inbox")} />
        <Tabs {...filter} />
        {/* eslint-disable-next-line jsx-a11y/no-noninteractive-tabindex -- a scrolling area is reached by keyboard */}
        <div className="scroll" tabIndex={0} role="group" aria-label={t("nav.inbox")}>
          <div className="column">
            {answered ? (
              <Answered
                key={`${profile}|${kind}`}
                profile={profile}
                kind={kind}
                closed={inbox.closed}
                onWaiting={() => change({ answered: false })}
                onAll={filtered ? () => change({ ...ALL, answered: true }) : null}
              />
            ) : (
              <>
                {!ready && loading === "loading" && <Skeleton label={t("inbox.loading")} lines={3} groups={3} />}
                {!ready && loading === "failed" && (
                  <ErrorLine
                    title={t("inbox.failed")}
                    action={{ label: t("app.retry"), run: () => void loadInbox() }}
                  />
                )}
                <Failures failures={failures} />
                {ready && shown.length + failures.length === 0 && (
                  <Empty filtered={filtered && total > 0} onAll={() => change(ALL)} />
                )}
                {ready && <Waiting requests={shown} />}
                {done.length > 0 && <Done requests={done} />}
              </>
            )}
          </div>
        </div>
      </main>
    </>
  );
}

function Bar({ title }: { title: string }) {
  const { t } = useTexts();
  const { listFolded, change } = usePreferences();
  return (
    <header className="bar">
      {listFolded && (
        <button
          type="button"
          className="icon-button show-list"
          aria-label={t("list.unfold")}
          title={t("list.unfold")}
          onClick={() => change({ listFolded: false })}
        >
          <Icon name="fold" />
        </button>
      )}
      <h1 id="title" aria-live="polite">
        {title}
      </h1>
    </header>
  );
}

interface Agent {
  slug: string;
  name: string;
  count: number;
}

/** The agents of what waits, and the chosen one, by name. */
function agentsOf(
  requests: readonly PersonRequest[],
  failures: readonly ScheduleFailure[],
  chosen: string,
  askerOf: (request: PersonRequest) => string | null,
): Agent[] {
  const agents = new Map<string, Agent>();
  const count = (slug: string, name: string | null) => {
    const known = agents.get(slug) ?? { slug, name: name ?? slug, count: 0 };
    agents.set(slug, { ...known, count: known.count + 1 });
  };
  for (const request of requests) if (request.profile !== null) count(request.profile, askerOf(request));
  for (const failure of failures) count(failure.profile, failure.profile_name);
  if (chosen !== NOTHING && !agents.has(chosen)) agents.set(chosen, { slug: chosen, name: chosen, count: 0 });
  return [...agents.values()].sort((a, b) => a.name.localeCompare(b.name));
}

interface OfKind {
  kind: Kind;
  count: number;
}

/** The kinds of what waits, and the chosen one. */
function kindsOf(requests: readonly PersonRequest[], failures: readonly ScheduleFailure[], chosen: string): OfKind[] {
  const counted = KINDS.map((kind) => ({
    kind,
    count: kind === "schedule" ? failures.length : requests.filter((one) => one.kind === kind).length,
  }));
  return counted.filter(({ kind, count }) => count > 0 || kind === chosen);
}

interface FilterProps {
  total: number;
  kinds: readonly OfKind[];
  agents: readonly Agent[];
  wanted: Wanted;
  onChange: (change: Partial<Wanted>) => void;
}

function Filter({ total, kinds, agents, wanted, onChange }: FilterProps) {
  const { t } = useTexts();
  const fold = usePreferences((state) => state.change);
  const { profile, kind, answered } = wanted;
  return (
    <section className="list" aria-label={t("inbox.filter")}>
      <header>
        <h2>{t("nav.inbox")}</h2>
        <button
          type="button"
          className="icon-button fold-button push"
          aria-label={t("list.fold")}
          title={t("list.fold")}
          onClick={() => fold({ listFolded: true })}
        >
          <Icon name="fold" />
        </button>
      </header>
      <div className="scroll">
        <FilterRow
          name={t("inbox.all")}
          count={total}
          chosen={!answered && profile === NOTHING && kind === NOTHING}
          onChoose={() => onChange(ALL)}
        />
        <FilterRow
          name={t("inbox.answered")}
          chosen={answered}
          onChoose={() => onChange({ answered: !answered })}
        />
        {kinds.length > 0 && <h3>{t("inbox.kinds")}</h3>}
        {kinds.map((one) => (
          <FilterRow
            key={one.kind}
            icon={KIND_ICONS[one.kind]}
            name={t(`inbox.kind.${one.kind}`)}
            count={one.count}
            chosen={one.kind === kind}
            onChoose={() => onChange({ kind: one.kind === kind ? NOTHING : one.kind })}
          />
        ))}
        {agents.length > 0 && <h3>{t("inbox.agents")}</h3>}
        {agents.map(({ slug, name, count }) => (
          <FilterRow
            key={slug}
            icon="agent"
            name={name}
            count={count}
            chosen={slug === profile}
            onChoose={() => onChange({ profile: slug === profile ? NOTHING : slug })}
          />
        ))}
      </div>
    </section>
  );
}

interface FilterRowProps {
  icon?: IconName;
  name: string;
  count?: number;
  chosen: boolean;
  onChoose: () => void;
}

function FilterRow({ icon, name, count, chosen, onChoose }: FilterRowProps) {
  return (
    <button
      type="button"
      className="row count-row"
      {...(chosen ? { "aria-current": "true" as const } : {})}
      onClick={onChoose}
    >
      {icon !== undefined && <Icon name={icon} className="s" />}
      <b>{name}</b>{" "}
      {count !== undefined && <span className="n">{count}</span>}
    </button>
  );
}

/** The same filter where there is no room for a list. */
function Tabs({ total, kinds, agents, wanted, onChange }: FilterProps) {
  const { t } = useTexts();
  const { profile, kind, answered } = wanted;
  const tab = (key: string, name: string, chosen: boolean, change: Partial<Wanted>) => (
    <button key={key} type="button" aria-pressed={chosen} onClick={() => onChange(change)}>
      {name}
    </button>
  );
  return (
    <div className="kinds tight-only" role="group" aria-label={t("inbox.filter")}>
      <div className="choice">
        {tab("all", `${t("inbox.allShort")} ${total}`, !answered && profile === NOTHING && kind === NOTHING, ALL)}
        {tab("answered", t("inbox.answered"), answered, { answered: !answered })}
        {kinds.length > 1 || kind !== NOTHING
          ? kinds.map((one) =>
              tab(one.kind, `${t(`inbox.kind.${one.kind}`)} ${one.count}`, one.kind === kind, {
                kind: one.kind === kind ? NOTHING : one.kind,
              }),
            )
          : null}
        {agents.length > 1 || profile !== NOTHING
          ? agents.map(({ slug, name, count }) =>
              tab(`of ${slug}`, `${name} ${count}`, slug === profile, { profile: slug === profile ? NOTHING : slug }),
            )
          : null}
      </div>
    </div>
  );
}

function Empty({ filtered, onAll }: { filtered: boolean; onAll: () => void }) {
  const { t } = useTexts();
  return (
    <div className="empty">
      <b>{t(filtered ? "inbox.emptyOf" : "inbox.empty")}</b>
      {!filtered && t("inbox.emptyHint")}
      <div>
        {filtered ? (
          <button type="button" className="button" onClick={onAll}>
            {t("inbox.showAll")}
          </button>
        ) : (
          <Link className="button" to="/">
            {t("inbox.emptyButton")}
          </Link>
        )}
      </div>
    </div>
  );
}

type Haste = "today" | "later" | "never";

function hasteOf({ expires }: PersonRequest, now: number): Haste {
  if (expires === null) return "never";
  const due = Date.parse(expires);
  return due <= now || sameDay(due, now) ? "today" : "later";
}

/** One request is open as a card, the first unless the reader chose another; the rest are lines. */
function Waiting({ requests }: { requests: readonly PersonRequest[] }) {
  const { t } = useTexts();
  const now = useNow(requests.some((one) => one.expires !== null));
  const [chosen, choose] = useState<string | null>(null);
  const [drawn, setDrawn] = useState(DRAWN);
  const list = useRef<HTMLDivElement>(null);
  const open = requests.some((one) => one.id === chosen) ? chosen : (requests[0]?.id ?? null);
  // What is open stays so when something more urgent comes in above.
  if (open !== chosen) choose(open);
  const before = useRef(open);
  useLayoutEffect(() => {
    // What had the focus is gone, answered: the next one takes it.
    const next = before.current !== null && open !== before.current;
    if (next && document.activeElement === document.body) focusCard(list.current);
    before.current = open;
  }, [open]);
  const shown = requests.slice(0, drawn);
  return (
    <div ref={list}>
      {(["today", "later", "never"] as const).map((haste) => (
        <Section
          key={haste}
          name={t(`inbox.${haste}`)}
          requests={shown.filter((one) => hasteOf(one, now) === haste)}
          open={open}
          now={now}
          onOpen={(id) => {
            choose(id);
            requestAnimationFrame(() => focusCard(list.current));
          }}
        />
      ))}
      {requests.length > drawn && (
        <button type="button" className="button quiet more" onClick={() => setDrawn(drawn + DRAWN)}>
          {t("inbox.more")}
        </button>
      )}
    </div>
  );
}

function focusCard(list: HTMLElement | null): void {
  list?.querySelector<HTMLElement>(".ask")?.focus();
}

interface SectionProps {
  name: string;
  requests: readonly PersonRequest[];
  open: string | null;
  now: number;
  onOpen: (id: string) => void;
}

function Section({ name, requests, open, now, onOpen }: SectionProps) {
  if (requests.length === 0) return null;
  return (
    <section aria-label={name}>
      <h2 className="when-head">{name}</h2>
      <ol className="waits">
        {requests.map((request) =>
          request.id === open ? (
            <li key={request.id} className="wait-item open">
              <RequestCard request={request} place="inbox" />
            </li>
          ) : (
            <Line key={request.id} request={request} now={now} onOpen={onOpen} />
          ),
        )}
      </ol>
    </section>
  );
}

function Line({ request, now, onOpen }: { request: PersonRequest; now: number; onOpen: (id: string) => void }) {
  const { t, locale } = useTexts();
  const [before, name, after] = askedBy(useAskers()(request), t);
  const confirms = request.kind === "confirmation";
  const asked = Date.parse(request.asked);
  const since = sameDay(asked, now) ? clock(asked, locale) : dayOfMonth(request.asked, locale);
  return (
    <li className={confirms ? "wait-item" : "wait-item question"}>
      <Icon name={confirms ? "approve" : "question"} />
      <button type="button" className="body" onClick={() => onOpen(request.id)}>
        <span className="sentence">
          {before}
          <em className="name">{name}</em>
          {after} {request.question}
        </span>
        {request.subject !== "" && <span className="meta">{request.subject}</span>}
      </button>
      <span className="due">{expiry(request, now, t, locale) ?? t("inbox.since", { time: since })}</span>
    </li>
  );
}

function Done({ requests }: { requests: readonly PersonRequest[] }) {
  const { t } = useTexts();
  return (
    <section aria-label={t("inbox.done")}>
      <h2 className="when-head">{t("inbox.done")}</h2>
      <ol className="waits done">
        {requests.slice(0, DRAWN).map((request) => (
          <li key={request.id}>
            <ClosedRequest request={request} />
          </li>
        ))}
      </ol>
    </section>
  );
}
