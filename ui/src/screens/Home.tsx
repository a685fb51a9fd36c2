import { useCallback, useRef, useState } from "react";
import { useNavigate } from "react-router";
import type { Profile } from "../api/types";
import * as server from "../client/endpoints";
import { newId } from "../client/ids";
import { ErrorLine } from "../parts/ErrorLine";
import { NoAgent } from "../parts/explain";
import { Icon } from "../parts/Icon";
import { Skeleton } from "../parts/Skeleton";
import { useTexts } from "../parts/useTexts";
import { usePreferences } from "../store/preferences";
import { useSession } from "../store/session";
import { knownProfiles, knowThread, loadProfiles, useView } from "../store/view";
import { Composer, SendError } from "../thread/Composer";
import { useSender, type Outgoing } from "../thread/useSender";

export function Home() {
  const { t } = useTexts();
  const profiles = useView((state) => state.profiles);
  const { lastProfile, change } = usePreferences();
  const failed = useView((state) => state.profilesFailed);
  const chosen = chosenOf(profiles, lastProfile);
  const send = useNewThread();
  const sender = useSender("new", send);
  const none = profiles?.length === 0;
  return (
    <main className="work home" id="work" aria-labelledby="greeting">
      <div className="scroll">
        <div className="column">
          <h1 className="greeting" id="greeting">
            <Greeting />
          </h1>
          <SendError sender={sender} />
          <Composer
            sender={sender}
            rows={2}
            focusFirst
            disabled={none}
            label={chosen === null ? t("composer.message") : t("composer.messageTo", { profile: chosen.name })}
            placeholder={chosen === null ? "" : t("home.ask", { profile: chosen.name })}
          />
          <p className="still">{t("home.still")}</p>
          <DemoNote />
          <h2 className="agents-head" id="agents">
            {t("home.agents")}
          </h2>
          {failed && <ErrorLine title={t("home.profilesFailed")} action={{ label: t("app.retry"), run: loadProfiles }} />}
          {profiles === null && !failed && <Skeleton label={t("app.loading")} groups={3} />}
          {none && (
            <p className="soft">
              {t("home.noProfiles")} {t("home.noProfilesHint")}
            </p>
          )}
          <ul className="agents" aria-labelledby="agents">
            {profiles?.map((profile) => (
              <Agent
                key={profile.id}
                profile={profile}
                chosen={profile.id === chosen?.id}
                onChoose={() => change({ lastProfile: profile.id })}
                onStarter={(question) => void sender.submitText(question)}
              />
            ))}
          </ul>
        </div>
      </div>
    </main>
  );
}

function chosenOf(profiles: Profile[] | null, last: string | null): Profile | null {
  return profiles?.find((one) => one.id === last) ?? profiles?.[0] ?? null;
}

/**
 * Makes the thread, posts the first message, opens the thread. Who is faster than the list of profiles has the question
 * sent when it is there. What succeeded is not done again by a retry.
 */
function useNewThread(): (message: Outgoing) => Promise<void> {
  const navigate = useNavigate();
  const workspace = useSession((state) => state.session?.private_workspace ?? "");
  const made = useRef<{ thread: string; profile: string } | null>(null);
  return useCallback(
    async ({ message_id, content }: Outgoing) => {
      const profile = chosenOf(await knownProfiles(), usePreferences.getState().lastProfile);
      if (profile === null) throw new NoAgent();
      if (made.current?.profile !== profile.id) {
        const thread = newId();
        knowThread(await server.createThread(thread, workspace, profile.id));
        made.current = { thread, profile: profile.id };
      }
      const { thread } = made.current;
      await server.postMessage(thread, { message_id, content });
      made.current = null;
      void navigate(`/threads/${thread}`);
    },
    [navigate, workspace],
  );
}

function Greeting() {
  const { t } = useTexts();
  const name = useSession((state) => state.session?.account.name ?? "");
  const [hour] = useState(() => new Date().getHours());
  const first = name.split(/\s+/)[0] ?? "";
  const time = hour < 5 ? "night" : hour < 12 ? "morning" : hour < 18 ? "day" : "evening";
  return <>{t(`home.${time}`, { name: first })}</>;
}

function DemoNote() {
  const { t } = useTexts();
  const demo = useSession((state) => state.info?.demo_model === true);
  return demo ? <p className="still">{t("home.demo")}</p> : null;
}

interface AgentProps {
  profile: Profile;
  chosen: boolean;
  onChoose: () => void;
  onStarter: (question: string) => void;
}

function Agent({ profile, chosen, onChoose, onStarter }: AgentProps) {
  const { t, locale } = useTexts();
  const where = { local: t("home.local"), remote: t("home.remote"), demo: t("home.demoModel") };
  const list = new Intl.ListFormat(locale, { type: "conjunction" });
  return (
    <li className={chosen ? "agent chosen" : "agent"}>
      <button type="button" className="pick" aria-pressed={chosen} onClick={onChoose}>
        <span className="line">
          <b>{profile.name}</b>
          {chosen && (
            <span className="state accent">
              <Icon name="check" />
              {t("home.chosen")}
            </span>
          )}
        </span>
        {profile.description !== "" && <span className="what">{profile.description}</span>}
        <span className="sees">
          <span>
            <Icon name={profile.model.location === "remote" ? "globe" : "lock"} />
            {where[profile.model.location]}
          </span>
          {profile.data.length > 0 && (
            <span>
              <Icon name="book" />
              {t("home.sees", { data: list.format(profile.data) })}
            </span>
          )}
        </span>
      </button>
      {chosen && profile.starters.length > 0 && (
        <div className="starters" role="group" aria-label={t("home.starters")}>
          {profile.starters.slice(0, 3).map((question) => (
            <button type="button" key={question} onClick={() => onStarter(question)}>
              <Icon name="follow" />
              {question}
            </button>
          ))}
        </div>
      )}
    </li>
  );
}
