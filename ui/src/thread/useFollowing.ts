import { useCallback, useEffect, useLayoutEffect, useRef, useState } from "react";

/** Nearer than this to the end, the reader is there. */
const NEAR_PX = 48;

export interface Following {
  scroller: React.RefObject<HTMLDivElement | null>;
  content: React.RefObject<HTMLDivElement | null>;
  onScroll: () => void;
  /** The reader is away from the end. */
  away: boolean;
  toEnd: () => void;
  /** Makes a change above, and leaves what is read where it is. */
  keepPlace: (change: () => Promise<void>) => void;
}

/** Keeps the end in sight while the reader is there, and leaves the page alone when not. */
export function useFollowing(): Following {
  const scroller = useRef<HTMLDivElement>(null);
  const content = useRef<HTMLDivElement>(null);
  const following = useRef(true);
  /** Where the page was when it was last looked at: only who moves up from there leaves the end. */
  const lastTop = useRef(0);
  const [away, setAway] = useState(false);

  const jump = useCallback(() => {
    const area = scroller.current;
    if (area !== null) area.scrollTop = area.scrollHeight;
  }, []);
  const toEnd = useCallback(() => {
    following.current = true;
    setAway(false);
    jump();
  }, [jump]);
  const onScroll = useCallback(() => {
    const area = scroller.current;
    if (area === null) return;
    const near = area.scrollHeight - area.scrollTop - area.clientHeight < NEAR_PX;
    const movedUp = area.scrollTop < lastTop.current - 1;
    lastTop.current = area.scrollTop;
    // Text that came between a jump and its scroll event is no wish of the reader's.
    if (near || movedUp) following.current = near;
    setAway(!following.current);
  }, []);

  const keepPlace = useCallback((change: () => Promise<void>) => {
    const area = scroller.current;
    const fromEnd = area === null ? 0 : area.scrollHeight - area.scrollTop;
    void change().finally(() =>
      requestAnimationFrame(() => {
        if (area !== null) area.scrollTop = area.scrollHeight - fromEnd;
      }),
    );
  }, []);

  useLayoutEffect(jump, [jump]);
  useEffect(() => {
    const area = content.current;
    if (area === null || typeof ResizeObserver === "undefined") return undefined;
    const observer = new ResizeObserver(() => {
      if (following.current) jump();
    });
    observer.observe(area);
    if (scroller.current !== null) observer.observe(scroller.current);
    return () => observer.disconnect();
  }, [jump]);

  return { scroller, content, onScroll, away, toEnd, keepPlace };
}
