import { useRef, type ReactNode } from "react";
import { useTranslation } from "react-i18next";
import { CopyButton } from "../parts/CopyButton";

export function CodeBlock({ children }: { children: ReactNode }) {
  const { t } = useTranslation();
  const pre = useRef<HTMLPreElement>(null);
  return (
    <div className="code">
      <pre ref={pre}>{children}</pre>
      <CopyButton label={t("thread.copyCode")} text={() => pre.current?.textContent ?? ""} />
    </div>
  );
}
