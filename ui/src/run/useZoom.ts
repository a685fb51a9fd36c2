import { useCallback, useEffect, useLayoutEffect, useRef, useState, type KeyboardEvent, type RefObject } from "react";

/** A step in or out. */
const STEP = 1.5;
export const LARGEST_ZOOM = 4096;
/** So much of a wheel's turn is a step. */
const WHEEL_PX = 100;

export interface Zoom {
  /** How many times wider than the pane the whole run is drawn. */
  zoom: number;
  /** Where the pane begins, as a share of the whole run. */
  from: number;
  area: RefObject<HTMLDivElement | null>;
  to: (zoom: number) => void;
  onScroll: () => void;
  onKeyDown: (event: KeyboardEvent) => void;
}

const KEYS: Record<string, number | undefined> = { "+": STEP, "=": STEP, "-": 1 / STEP, _: 1 / STEP, "0": 0 };

/**
 * How much of the time is looked at. What lies under the pointer, or is chosen, or in the middle, stays where it is.
 *
 * @param track Selects an element that is as wide as the whole run.
 * @param chosen Selects the element, in a track, that begins where what is chosen does.
 */
export function useZoom(track: string, chosen: string): Zoom {
  const area = useRef<HTMLDivElement>(null);
  const [zoom, setZoom] = useState(1);
  const [from, setFrom] = useState(0);
  /** A share of the run, and how far from the left edge of the tracks it has to be after drawing. */
  const held = useRef<{ share: number; left: number } | null>(null);
  const measure = useCallback(() => {
    const box = area.current;
    const whole = box?.querySelector<HTMLElement>(track);
    if (box == null || whole == null) return null;
    const width = whole.offsetWidth;
    const labels = whole.offsetLeft;
    return { box, width, labels, seen: Math.max(1, box.clientWidth - labels) };
  }, [track]);
  const onScroll = useCallback(() => {
    const found = measure();
    if (found !== null && found.width > 0) setFrom(found.box.scrollLeft / found.width);
  }, [measure]);
  const around = useCallback(
    (next: number, pointer: number | null) => {
      const found = measure();
      const wanted = Math.min(LARGEST_ZOOM, Math.max(1, next));
      setZoom(wanted);
      if (found === null || found.width === 0) return;
      const { box, width, labels, seen } = found;
      const begin = (box.querySelector<HTMLElement>(chosen)?.offsetLeft ?? -1) - box.scrollLeft;
      const middle = begin >= 0 && begin <= seen ? begin : seen / 2;
      const left = pointer === null ? middle : Math.max(0, pointer - labels);
      held.current = { share: (box.scrollLeft + left) / width, left };
    },
    [chosen, measure],
  );
  useLayoutEffect(() => {
    const found = measure();
    if (held.current === null || found === null) return;
    const { share, left } = held.current;
    held.current = null;
    found.box.scrollLeft = share * found.width - left;
    onScroll();
  }, [zoom, measure, onScroll]);
  useEffect(() => {
    const box = area.current;
    if (box === null) return undefined;
    const onWheel = (event: WheelEvent) => {
      if (!event.ctrlKey && !event.metaKey) return;
      event.preventDefault(); // else the whole page is zoomed
      const pointer = event.clientX - box.getBoundingClientRect().left;
      around(zoom * STEP ** (-event.deltaY / WHEEL_PX), pointer);
    };
    box.addEventListener("wheel", onWheel, { passive: false });
    return () => box.removeEventListener("wheel", onWheel);
  }, [around, zoom]);
  const to = useCallback((wanted: number) => around(wanted, null), [around]);
  const onKeyDown = useCallback(
    (event: KeyboardEvent) => {
      const factor = KEYS[event.key];
      if (factor === undefined || event.ctrlKey || event.metaKey || event.altKey) return;
      event.preventDefault();
      around(factor === 0 ? 1 : zoom * factor, null);
    },
    [around, zoom],
  );
  return { zoom, from, area, to, onScroll, onKeyDown };
}

export const zoomedIn = (zoom: number) => zoom * STEP;
export const zoomedOut = (zoom: number) => zoom / STEP;
