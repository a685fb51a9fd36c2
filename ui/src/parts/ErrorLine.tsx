import type { ReactNode } from "react";
import { Icon } from "./Icon";

interface ErrorLineProps {
  title: string;
  children?: ReactNode;
  /** Something that was wanted, a stop for instance: told in grey. */
  calm?: boolean;
  action?: { label: string; run: () => void };
}

/** An error is a line: cause, what was kept, what to do. */
export function ErrorLine({ title, children, calm = false, action }: ErrorLineProps) {
  return (
    <div className={calm ? "error calm" : "error"} role={calm ? "note" : "alert"}>
      <Icon name={calm ? "halt" : "failed"} />
      <span className="cause">
        <b>{title}</b> {children}{" "}
        {action !== undefined && (
          <button type="button" className="text-button accent" onClick={action.run}>
            {action.label}
          </button>
        )}
      </span>
    </div>
  );
}
