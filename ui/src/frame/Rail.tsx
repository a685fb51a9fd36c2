import { useState } from "react";
import { createPortal } from "react-dom";
import { Link, useLocation } from "react-router";
import { Icon } from "../parts/Icon";
import { useTexts } from "../parts/useTexts";
import { useInbox } from "../store/inbox";
import { useSession } from "../store/session";
import { Account } from "./Account";

export function Rail() {
  const { t } = useTexts();
  const { pathname } = useLocation();
  const name = useSession((state) => state.session?.account.name ?? "");
  const [open, setOpen] = useState(false);
  const current = (here: boolean) => (here ? { "aria-current": "page" as const } : {});
  const atNew = pathname === "/";
  const atChats = pathname.startsWith("/chats") || pathname.startsWith("/threads");
  return (
    <nav className="rail" aria-label={t("nav.main")}>
      <ul>
        <li className="wide-only">
          <Link to="/chats" title={t("nav.chat")} {...current(atNew || atChats)}>
            <Icon name="chat" />
            <span className="word">{t("nav.chat")}</span>
          </Link>
        </li>
        <li className="narrow-only">
          <Link to="/chats" {...current(atChats)}>
            <Icon name="chat" />
            <span className="word">{t("list.title")}</span>
          </Link>
        </li>
        <li className="narrow-only">
          <Link to="/" {...current(atNew)}>
            <Icon name="write" />
            <span className="word">{t("nav.newChat")}</span>
          </Link>
        </li>
        <li>
          <InboxLink current={pathname === "/inbox"} />
        </li>
        <li className="wide-only">
          <Link to="/knowledge" title={t("nav.knowledge")} {...current(pathname.startsWith("/knowledge"))}>
            <Icon name="book" />
            <span className="word">{t("nav.knowledge")}</span>
          </Link>
        </li>
        <li>
          <Link to="/runs" title={t("nav.runs")} {...current(pathname.startsWith("/runs"))}>
            <Icon name="runs" />
            <span className="word">{t("nav.runs")}</span>
          </Link>
        </li>
      </ul>
      <ul className="foot">
        <li>
          <button
            type="button"
            title={t("nav.accountOf", { name })}
            aria-haspopup="dialog"
            aria-expanded={open}
            onClick={() => setOpen(!open)}
          >
            <span className="face" aria-hidden="true">
              {initials(name)}
            </span>
            <span className="word">{t("nav.account")}</span>
          </button>
          {open && createPortal(<Account onClose={() => setOpen(false)} />, document.body)}
        </li>
      </ul>
    </nav>
  );
}

/** With how many requests wait for the person. */
function InboxLink({ current }: { current: boolean }) {
  const { t } = useTexts();
  const count = useInbox((state) => Object.keys(state.inbox.open).length + state.failures.length);
  return (
    <Link to="/inbox" title={t("nav.inbox")} {...(current ? { "aria-current": "page" as const } : {})}>
      <Icon name="inbox" />
      <span className="word">{t("nav.inbox")}</span>
      {count > 0 && (
        <>
          <span className="count" aria-hidden="true">
            {count > 99 ? "99+" : count}
          </span>{" "}
          <span className="hidden">{t("inbox.title", { count })}</span>
        </>
      )}
    </Link>
  );
}

function initials(name: string): string {
  const words = name.split(/\s+/).filter((word) => word !== "");
  const first = words[0]?.[0] ?? "?";
  const last = words.length > 1 ? (words.at(-1)?.[0] ?? "") : "";
  return (first + last).toLocaleUpperCase();
}
