import { useState } from "react";
import { Icon } from "../parts/Icon";
import { useTexts } from "../parts/useTexts";

const OPEN_DEPTH = 1;
const LONG_TEXT = 600;

/** What an event carries, as a tree whose branches fold. */
export function PayloadTree({ data, label }: { data: unknown; label?: string }) {
  const { t } = useTexts();
  const entries = entriesOf(data);
  if (entries.length === 0) return <p className="small faint">{t("run.noFields")}</p>;
  return (
    <ul className="tree" aria-label={label}>
      {entries.map(([key, value]) => (
        <Node key={key} name={key} value={value} depth={0} />
      ))}
    </ul>
  );
}

function Node({ name, value, depth }: { name: string; value: unknown; depth: number }) {
  const [open, setOpen] = useState(depth < OPEN_DEPTH && entriesOf(value).length <= 8);
  const children = entriesOf(value);
  if (children.length === 0) {
    return (
      <li>
        <span className="k">{name}</span>
        <Leaf value={value} />
      </li>
    );
  }
  return (
    <li data-open={open}>
      <button type="button" className="k" aria-expanded={open} onClick={() => setOpen(!open)}>
        <Icon name={open ? "down" : "right"} />
        {name}
      </button>
      <span className="val faint">
        <Size value={value} />
      </span>
      {open && (
        <ul>
          {children.map(([key, child]) => (
            <Node key={key} name={key} value={child} depth={depth + 1} />
          ))}
        </ul>
      )}
    </li>
  );
}

function Size({ value }: { value: unknown }) {
  const { t } = useTexts();
  const count = entriesOf(value).length;
  return <>{Array.isArray(value) ? t("run.items", { count }) : t("run.fields", { count })}</>;
}

function Leaf({ value }: { value: unknown }) {
  const { t } = useTexts();
  const [whole, setWhole] = useState(false);
  const text = typeof value === "object" && value !== null ? (Array.isArray(value) ? "[]" : "{}") : JSON.stringify(value);
  const long = text.length > LONG_TEXT && !whole;
  return (
    <span className={value === null ? "val faint" : "val"}>
      {long ? `${text.slice(0, LONG_TEXT)}…` : text}
      {long && (
        <button type="button" className="text-button accent" onClick={() => setWhole(true)}>
          {t("list.more")}
        </button>
      )}
    </span>
  );
}

function entriesOf(value: unknown): [string, unknown][] {
  if (Array.isArray(value)) return value.map((child: unknown, index) => [String(index), child]);
  return typeof value === "object" && value !== null ? Object.entries(value) : [];
}
