import { useEffect, useState } from "react";
import { useTranslation } from "react-i18next";
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

/** The clipboard is only given to secure pages; on a plain address the old command still works. */
async function writeClipboard(text: string): Promise<void> {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    const area = document.createElement("textarea");
    area.value = text;
    area.className = "hidden";
    document.body.append(area);
    area.select();
    // eslint-disable-next-line @typescript-eslint/no-deprecated -- there is no other way without a secure context
    document.execCommand("copy");
    area.remove();
  }
}
