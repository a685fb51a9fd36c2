import { useEffect, useRef } from "react";

/** Brings what is chosen in another pane into sight, and moves nothing that is in sight already. */
export function useInView<T extends Element>(chosen: boolean): React.RefObject<T | null> {
  const element = useRef<T>(null);
  useEffect(() => {
    if (chosen) element.current?.scrollIntoView({ block: "nearest", inline: "nearest" });
  }, [chosen]);
  return element;
}
