import { Outlet, useLocation } from "react-router";
import { usePreferences } from "../store/preferences";
import { useTexts } from "../parts/useTexts";
import { Rail } from "./Rail";
import { ThreadList } from "./ThreadList";

/** Rail, list and work area. Below 1 024 px the list is a page of its own, at /chats. */
export function Frame() {
  const { t } = useTexts();
  const { pathname } = useLocation();
  const folded = usePreferences((state) => state.listFolded);
  const withoutList = /^\/(runs|settings|knowledge)(\/|$)/.test(pathname);
  // The inbox brings a list of its own.
  const ownList = pathname === "/inbox";
  const classes = ["frame", withoutList && "no-list", folded && "folded", pathname === "/chats" && "on-list"];
  return (
    <>
      <a className="skip" href="#work">
        {t("app.skip")}
      </a>
      <div className={classes.filter(Boolean).join(" ")}>
        <Rail />
        {!withoutList && !ownList && <ThreadList />}
        <Outlet />
      </div>
    </>
  );
}
