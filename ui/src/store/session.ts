import { create } from "zustand";
import type { ServerInfo, Session } from "../api/types";
import * as server from "../client/endpoints";
import { Refused, setCredentials } from "../client/http";

/** `expired` keeps the session's data, so the page stays as it is while the person signs in again. */
export type SessionStatus = "unknown" | "unreachable" | "anonymous" | "active" | "expired";

interface SessionStore {
  status: SessionStatus;
  session: Session | null;
  info: ServerInfo | null;
  load: () => Promise<void>;
  signIn: (login: string, password: string) => Promise<void>;
  signOut: () => Promise<void>;
  changeLocale: (locale: string) => Promise<void>;
}

export const useSession = create<SessionStore>()((set, get) => {
  const enter = (session: Session) => {
    setCredentials({ csrf: session.csrf });
    set({ session, status: "active" });
  };
  setCredentials({
    lost: () => {
      if (get().status === "active") set({ status: "expired" });
    },
  });
  return {
    status: "unknown",
    session: null,
    info: null,
    load: async () => {
      try {
        set({ info: await server.readServer() });
        enter(await server.readSession());
      } catch (error) {
        const anonymous = error instanceof Refused && (error.status === 401 || error.status === 403);
        set({ status: anonymous ? "anonymous" : "unreachable" });
      }
    },
    signIn: async (login, password) => enter(await server.signIn(login, password)),
    signOut: async () => {
      await server.signOut();
      // A full load leaves nothing of this account in memory.
      window.location.assign("/");
    },
    changeLocale: async (locale) => {
      const { session } = get();
      if (session === null) return;
      set({ session: { ...session, account: { ...session.account, locale } } });
      await server.changeLocale(locale);
    },
  };
});
