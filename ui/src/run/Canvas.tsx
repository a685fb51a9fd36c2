import { useCallback, useEffect, useRef, useState, type ReactNode } from "react";
import { Icon } from "../parts/Icon";
import { useTexts } from "../parts/useTexts";

/** Less than this hidden is an edge, not a part of the drawing. */
const HIDDEN_PX = 16;

/** Where the graph is looked at. It scrolls, and says so while there is more to the right. */
export function Canvas({ children }: { children: ReactNode }) {
  const { t } = useTexts();
  const area = useRef<HTMLDivElement>(null);
  const [more, setMore] = useState(false);
  const look = useCallback(() => {
    const box = area.current;
    if (box !== null) setMore(box.scrollWidth - box.clientWidth - box.scrollLeft > HIDDEN_PX);
  }, []);
  useEffect(() => {
    const box = area.current;
    if (box === null || typeof ResizeObserver === "undefined") return undefined;
    const observer = new ResizeObserver(look);
    observer.observe(box);
    for (const drawing of box.children) observer.observe(drawing);
    return () => observer.disconnect();
  }, [look]);
  const onward = () => {
    const box = area.current;
    box?.scrollBy({ left: box.clientWidth * 0.8 });
  };
  return (
    <div className="canvas-frame">
      {/* eslint-disable-next-line jsx-a11y/no-noninteractive-tabindex -- a scrolling area is reached by keyboard */}
      <div className="canvas" tabIndex={0} role="group" aria-label={t("run.canvas")} ref={area} onScroll={look}>
        {children}
      </div>
      {more && (
        <button type="button" className="onward" onClick={onward}>
          {t("run.onward")}
          <Icon name="right" className="s" />
        </button>
      )}
    </div>
  );
}
