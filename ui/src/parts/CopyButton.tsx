import { useEffect, useState } from "react";
import { useTranslation } from "react-i18next";
import { writeClipboard } from "./clipboard";
import { Icon } from "./Icon";

const SHOWN_MS = 1500;

/** Copies, and says so for a moment with the same width. */
export function CopyButton({ label, text }: { label: string; text: () => string }) {
  const { t } = useTranslation();
  const [copied, setCopied] = useState(false);
  useEffect(() => {
    if (!copied) return undefined;
    const timer = setTimeout(() => setCopied(false), SHOWN_MS);
    return () => clearTimeout(timer);
  }, [copied]);
  const copy = async () => {
    await writeClipboard(text());
    setCopied(true);
  };
  const words = copied ? t("thread.copied") : label;
  return (
    <button type="button" className="icon-button s" aria-label={words} title={words} onClick={() => void copy()}>
      <Icon name={copied ? "check" : "copy"} />
    </button>
  );
}
