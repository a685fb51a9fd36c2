import { useId, type KeyboardEvent } from "react";

interface Option<T extends string> {
  value: T;
  label: string;
  hint?: string;
}

interface ChoiceProps<T extends string> {
  label: string;
  options: readonly Option<T>[];
  value: T;
  onChange: (value: T) => void;
  /** Tabs change what is shown, radios what will be done. */
  kind: "tabs" | "radio";
  /** The id of the panel that tabs change. */
  panel?: string;
}

/** Two or three views or answers in one line; arrow keys move, as in any group of tabs or radios. */
export function Choice<T extends string>({ label, options, value, onChange, kind, panel }: ChoiceProps<T>) {
  const name = useId();
  const tabs = kind === "tabs";
  const move = (event: KeyboardEvent) => {
    const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
    if (step === undefined) return;
    event.preventDefault();
    event.stopPropagation();
    const at = options.findIndex((option) => option.value === value);
    const next = options[(at + step + options.length) % options.length];
    if (next === undefined) return;
    onChange(next.value);
    document.getElementById(`${name}-${next.value}`)?.focus();
  };
  return (
    <div className="choice" role={tabs ? "tablist" : "radiogroup"} aria-label={label}>
      {options.map((option) => {
        const chosen = option.value === value;
        return (
          <button
            key={option.value}
            id={`${name}-${option.value}`}
            type="button"
            role={tabs ? "tab" : "radio"}
            title={option.hint}
            tabIndex={chosen ? 0 : -1}
            {...(tabs ? { "aria-selected": chosen, "aria-controls": panel } : { "aria-checked": chosen })}
            onKeyDown={move}
            onClick={() => onChange(option.value)}
          >
            {option.label}
          </button>
        );
      })}
    </div>
  );
}
