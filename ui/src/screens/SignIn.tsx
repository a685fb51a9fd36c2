import { useId, useState } from "react";
import { Refused } from "../client/http";
import { isLocale, LANGUAGE_NAMES, LOCALES, switchLocale } from "../i18n";
import { Choice } from "../parts/Choice";
import { ErrorLine } from "../parts/ErrorLine";
import { explain } from "../parts/explain";
import { useTexts } from "../parts/useTexts";
import { usePreferences } from "../store/preferences";
import { useSession } from "../store/session";

/** The page before there is a session. */
export function SignIn() {
  const { t, locale } = useTexts();
  const change = usePreferences((state) => state.change);
  const info = useSession((state) => state.info);
  const [expiredLink] = useState(() => new URLSearchParams(window.location.search).get("signin") === "expired");
  return (
    <div className="entrance">
      <main id="work">
        <Mark />
        <h1>{t("signIn.title")}</h1>
        {expiredLink && (
          <div className="notice">
            <ErrorLine title={t("signIn.expiredLink")}>{t("signIn.expiredLinkHint")}</ErrorLine>
          </div>
        )}
        <SignInForm />
        {info?.sign_in.token === true && !expiredLink && <p className="hint">{t("signIn.token")}</p>}
      </main>
      <footer>
        <Choice
          label={t("account.language")}
          kind="radio"
          options={LOCALES.map((value) => ({ value, label: LANGUAGE_NAMES[value] }))}
          value={isLocale(locale) ? locale : "en"}
          onChange={(value) => {
            change({ locale: value });
            void switchLocale(value);
          }}
        />
      </footer>
    </div>
  );
}

/** Over the page after the session ended: what was written stays, and is there when signed in again. */
export function SignInAgain() {
  const { t } = useTexts();
  const title = useId();
  return (
    <div className="scrim">
      <div className="float" role="dialog" aria-modal="true" aria-labelledby={title}>
        <h2 id={title}>{t("signIn.again")}</h2>
        <p className="notice">{t("signIn.againHint")}</p>
        <SignInForm />
      </div>
    </div>
  );
}

function SignInForm() {
  const { t, locale } = useTexts();
  const known = useSession((state) => state.session?.account.login ?? "");
  const signIn = useSession((state) => state.signIn);
  const [login, setLogin] = useState(known);
  const [password, setPassword] = useState("");
  const [working, setWorking] = useState(false);
  const [error, setError] = useState<string | null>(null);
  const submit = async () => {
    if (working || login === "" || password === "") return;
    setWorking(true);
    setError(null);
    try {
      await signIn(login, password);
    } catch (reason) {
      const wrong = reason instanceof Refused && reason.status === 401;
      setError(wrong ? t("signIn.wrong") : explain(reason, t, locale));
      setWorking(false);
    }
  };
  return (
    <form
      className="sign-in"
      onSubmit={(event) => {
        event.preventDefault();
        void submit();
      }}
    >
      <label>
        {t("signIn.login")}
        <input
          className="field"
          name="login"
          autoComplete="username"
          autoCapitalize="none"
          required
          value={login}
          onChange={(event) => setLogin(event.target.value)}
        />
      </label>
      <label>
        {t("signIn.password")}
        <input
          className="field"
          name="password"
          type="password"
          autoComplete="current-password"
          required
          value={password}
          ref={known === "" ? undefined : (input) => input?.focus()}
          onChange={(event) => setPassword(event.target.value)}
        />
      </label>
      {error !== null && <ErrorLine title={error} />}
      <button type="submit" className="button primary" aria-disabled={working}>
        {working ? t("signIn.working") : t("signIn.submit")}
      </button>
    </form>
  );
}

export function Mark() {
  const { t } = useTexts();
  return (
    <div className="mark">
      <img src="/icon.svg" alt="" width="28" height="28" />
      {t("app.name")}
    </div>
  );
}
