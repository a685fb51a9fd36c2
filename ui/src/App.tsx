import {
  lazy,
  Suspense,
  useEffect,
  useLayoutEffect,
  type ComponentType,
  type LazyExoticComponent,
  type ReactElement,
} from "react";
import { BrowserRouter, Route, Routes } from "react-router";
import { Frame } from "./frame/Frame";
import { isLocale, loadLaterTexts, switchLocale } from "./i18n";
import { Sprite } from "./parts/Sprite";
import { useTexts } from "./parts/useTexts";
import { Home } from "./screens/Home";
import { Mark, SignIn, SignInAgain } from "./screens/SignIn";
import { ThreadScreen } from "./screens/Thread";
import { applyTheme, usePreferences } from "./store/preferences";
import { useSession } from "./store/session";
import { loadInbox } from "./store/inbox";
import { loadThreads, reconnect, startView, stopView } from "./store/view";

const InboxScreen = lazy(() => import("./screens/Inbox").then(({ InboxScreen: screen }) => ({ default: screen })));
const CompareScreen = later(() => import("./screens/Compare").then((found) => found.CompareScreen));
const KnowledgeScreen = later(() => import("./screens/Knowledge").then((found) => found.KnowledgeScreen));
const MemoryScreen = later(() => import("./screens/Memory").then((found) => found.MemoryScreen));
const RunScreen = later(() => import("./screens/Run").then((found) => found.RunScreen));
const RunsScreen = later(() => import("./screens/Runs").then((found) => found.RunsScreen));

/** A screen with texts of its own that come with it. */
function later(load: () => Promise<ComponentType>): LazyExoticComponent<ComponentType> {
  return lazy(async () => {
    const [screen] = await Promise.all([load(), loadLaterTexts()]);
    return { default: screen };
  });
}

export function App() {
  const status = useSession((state) => state.status);
  const theme = usePreferences((state) => state.theme);
  useEffect(() => applyTheme(theme), [theme]);
  useEffect(() => void useSession.getState().load(), []);
  return (
    <>
      <Sprite />
      {status === "unreachable" && <Unreachable />}
      {status === "anonymous" && <SignIn />}
      {(status === "active" || status === "expired") && <SignedIn expired={status === "expired"} />}
    </>
  );
}

function SignedIn({ expired }: { expired: boolean }) {
  const workspace = useSession((state) => state.session?.private_workspace ?? "");
  useAccountLocale();
  // Before the effects of the screens, which read threads of this workspace.
  useLayoutEffect(() => {
    startView(workspace);
    return stopView;
  }, [workspace]);
  useEffect(() => {
    if (!expired) reconnect();
  }, [expired]);
  useReturn();
  return (
    <>
      <div inert={expired}>
        {/* Without transitions: the old composer must not take what is typed after a click. */}
        <BrowserRouter useTransitions={false}>
          <Routes>
            <Route element={<Frame />}>
              <Route path="/threads/:id" element={<ThreadScreen />} />
              <Route path="/inbox" element={<Later screen={<InboxScreen />} fallback={<InboxFallback />} />} />
              <Route path="/runs" element={<Later screen={<RunsScreen />} />} />
              <Route path="/runs/compare" element={<Later screen={<CompareScreen />} />} />
              <Route path="/runs/:id" element={<Later screen={<RunScreen />} />} />
              <Route path="/knowledge/:id?" element={<Later screen={<KnowledgeScreen />} />} />
              <Route path="/settings/memory" element={<Later screen={<MemoryScreen />} />} />
              <Route path="*" element={<Home />} />
            </Route>
          </Routes>
        </BrowserRouter>
      </div>
      {expired && <SignInAgain />}
    </>
  );
}

/** The list column and the work area, empty for the moment in which the screen is fetched. */
function InboxFallback() {
  return (
    <>
      <section className="list" />
      <Waiting />
    </>
  );
}

function Waiting() {
  return <main className="work" id="work" aria-busy="true" />;
}

/** A screen that is loaded when it is first wanted. */
function Later({ screen, fallback = <Waiting /> }: { screen: ReactElement; fallback?: ReactElement }) {
  return <Suspense fallback={fallback}>{screen}</Suspense>;
}

/** The network is back: connect at once. The reader is back: threads written elsewhere are in the list. */
function useReturn(): void {
  useEffect(() => {
    const onVisible = () => {
      if (document.visibilityState !== "visible") return;
      void loadThreads();
      void loadInbox();
    };
    window.addEventListener("online", reconnect);
    document.addEventListener("visibilitychange", onVisible);
    return () => {
      window.removeEventListener("online", reconnect);
      document.removeEventListener("visibilitychange", onVisible);
    };
  }, []);
}

/** The account's language wins over the browser's; a choice made on this device wins over both. */
function useAccountLocale(): void {
  const own = usePreferences((state) => state.locale);
  const account = useSession((state) => state.session?.account.locale);
  useEffect(() => {
    if (own === null && isLocale(account)) void switchLocale(account);
  }, [own, account]);
}

function Unreachable() {
  const { t } = useTexts();
  const load = useSession((state) => state.load);
  return (
    <div className="entrance">
      <main id="work">
        <Mark />
        <h1>{t("app.unreachable")}</h1>
        <p className="notice">{t("app.unreachableHint")}</p>
        <button type="button" className="button primary" onClick={() => void load()}>
          {t("app.retry")}
        </button>
      </main>
    </div>
  );
}
