import { useEffect, useState } from "react";
import { explain } from "../parts/explain";
import { useTexts } from "../parts/useTexts";

/** Does what a button asks for, one thing at a time. */
export function useActing() {
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
  return { busy, problem, act };
}

export function usePageTitle(title: string): void {
  useEffect(() => {
    document.title = `${title} · Planwerk`;
    return () => {
      document.title = "Planwerk";
    };
  }, [title]);
}
