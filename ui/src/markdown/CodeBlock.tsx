import { useRef, type ReactNode } from "react";
import { useTranslation } from "react-i18next";
import { CopyButton } from "../parts/CopyButton";

export function CodeBlock({ children }: { children: ReactNode }) {
  const { t } = useTranslation();
  const pre = useRef<HTMLPreElement>(null);
  return (
    <div className="code">
      {/* eslint-disable-next-line jsx-a11y/no-noninteractive-tabindex -- long lines are scrolled by keyboard */}
      <pre ref={pre} tabIndex={0}>
        {children}
      </pre>
      <CopyButton label={t("thread.copyCode")} text={() => pre.current?.textContent ?? ""} />
    </div>
  );
}
