import { useEffect, useState } from "react";
import type { Envelope } from "../api/types";
import { Icon } from "../parts/Icon";
import { useTexts } from "../parts/useTexts";
import { entryName } from "./entryName";

interface ScrubberProps {
  entries: readonly Envelope[];
  /** The position that is shown; null is the end. */
  at: number | null;
  onMove: (at: number | null) => void;
  /** What stands at its end. */
  children?: React.ReactNode;
}

const PLAY_MS = 500;

/** Steps through a run: graph, timeline and inspector show it as it stood at the position. */
export function Scrubber({ entries, at, onMove, children }: ScrubberProps) {
  const { t } = useTexts();
  const last = entries.length;
  const position = Math.min(at ?? last, last);
  const [playing, setPlaying] = useState(false);
  const go = (to: number) => onMove(to >= last ? null : Math.max(1, to));
  const plays = playing && position < last;
  useEffect(() => {
    if (!plays) return undefined;
    const timer = setTimeout(() => onMove(position + 1 >= last ? null : position + 1), PLAY_MS);
    return () => clearTimeout(timer);
  }, [plays, position, last, onMove]);
  const play = () => {
    if (!plays && position >= last) go(1);
    setPlaying(!plays);
  };
  const move = (to: number) => {
    setPlaying(false);
    go(to);
  };
  const entry = entries[position - 1];
  const name = entry === undefined ? "" : entryName(entry, t);
  const words = t("run.position", { position, count: last });
  return (
    <footer className="scrubber" aria-label={t("run.scrubber")}>
      <Step icon="prev" label={t("run.stepBack")} off={position <= 1} onClick={() => move(position - 1)} />
      <Step icon={plays ? "pause" : "play"} label={plays ? t("run.pause") : t("run.play")} off={last < 2} onClick={play} />
      <Step icon="next" label={t("run.stepOn")} off={position >= last} onClick={() => move(position + 1)} />
      <label className="slide">
        <span className="hidden">{t("run.scrubPosition")}</span>
        <span className="fill" style={{ width: `${last < 2 ? 0 : (100 * (position - 1)) / (last - 1)}%` }} />
        <input
          type="range"
          min={1}
          max={Math.max(last, 1)}
          value={position}
          disabled={last < 2}
          aria-valuetext={`${words}, ${name}`}
          onChange={(event) => move(Number(event.target.value))}
        />
      </label>
      <span className="small soft at" aria-hidden="true">
        {words}
        <span className="wide-only mono faint">{name}</span>
      </span>
      {children}
    </footer>
  );
}

interface StepProps {
  icon: "prev" | "next" | "play" | "pause";
  label: string;
  off: boolean;
  onClick: () => void;
}

function Step({ icon, label, off, onClick }: StepProps) {
  return (
    <button
      type="button"
      className="icon-button"
      aria-label={label}
      title={label}
      aria-disabled={off}
      onClick={() => {
        if (!off) onClick();
      }}
    >
      <Icon name={icon} />
    </button>
  );
}
