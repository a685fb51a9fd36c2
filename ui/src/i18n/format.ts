/** Times, spans and amounts in the reader's language. Formatters are kept: making one costs more than using it. */
const kept = new Map<string, Intl.NumberFormat | Intl.DateTimeFormat>();

/** The person's own form of the language: "en" is 13:20 in London and 1:20 PM in Boston. */
function own(locale: string): string {
  return navigator.languages.find((language) => language.split("-")[0] === locale) ?? locale;
}

function numbers(locale: string, options: Intl.NumberFormatOptions): Intl.NumberFormat {
  const key = `n${locale}${JSON.stringify(options)}`;
  const made = (kept.get(key) as Intl.NumberFormat | undefined) ?? new Intl.NumberFormat(own(locale), options);
  kept.set(key, made);
  return made;
}

function dates(locale: string, options: Intl.DateTimeFormatOptions): Intl.DateTimeFormat {
  const key = `d${locale}${JSON.stringify(options)}`;
  const made = (kept.get(key) as Intl.DateTimeFormat | undefined) ?? new Intl.DateTimeFormat(own(locale), options);
  kept.set(key, made);
  return made;
}

/** "0.4 ms", "0.02 s", "1.1 s", "12 s", "2 min 14 s". */
export function span(seconds: number, locale: string): string {
  if (seconds < 0.01) {
    return `${numbers(locale, { maximumSignificantDigits: seconds < 0.001 ? 1 : 2 }).format(seconds * 1000)} ms`;
  }
  if (seconds >= 60) {
    const whole = Math.round(seconds);
    const minutes = Math.floor(whole / 60);
    if (minutes >= 60) return `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
    return whole % 60 === 0 ? `${minutes} min` : `${minutes} min ${whole % 60} s`;
  }
  const digits = seconds < 1 ? 2 : seconds < 10 ? 1 : 0;
  return `${numbers(locale, { minimumFractionDigits: digits, maximumFractionDigits: digits }).format(seconds)} s`;
}

/** "0 s" while counting up: whole seconds, so that nothing flickers. */
export function wholeSeconds(seconds: number, locale: string): string {
  const whole = Math.max(0, Math.floor(seconds));
  return whole < 60 ? `${whole} s` : span(whole, locale);
}

export function count(value: number, locale: string): string {
  return numbers(locale, {}).format(value);
}

/** Costs are in US dollars and often far below a cent. */
export function money(value: number, locale: string): string {
  return numbers(locale, { style: "currency", currency: "USD", currencyDisplay: "narrowSymbol", maximumSignificantDigits: 3 }).format(value);
}

export function bytes(value: number, locale: string): string {
  const kilo = value < 1024 * 1024;
  const amount = numbers(locale, { maximumFractionDigits: 1 }).format(value / (kilo ? 1024 : 1024 * 1024));
  return `${amount} ${kilo ? "kB" : "MB"}`;
}

export function clock(time: string | number, locale: string): string {
  return dates(locale, { hour: "2-digit", minute: "2-digit" }).format(new Date(time));
}

/** "in 45 seconds", "in 5 minutes", "in 3 hours", "in 2 days". */
export function untilThen(seconds: number, locale: string): string {
  const relative = new Intl.RelativeTimeFormat(locale, { numeric: "always" });
  if (seconds <= 59) return relative.format(Math.max(0, Math.ceil(seconds)), "second");
  if (seconds < 3600) return relative.format(Math.min(59, Math.ceil(seconds / 60)), "minute");
  if (seconds < 2 * 86_400) return relative.format(Math.round(seconds / 3600), "hour");
  return relative.format(Math.round(seconds / 86_400), "day");
}

export function sameDay(a: number, b: number): boolean {
  return new Date(a).toDateString() === new Date(b).toDateString();
}

export function exactClock(time: string | number, locale: string): string {
  const options = { hour: "2-digit", minute: "2-digit", second: "2-digit", fractionalSecondDigits: 3 } as const;
  return dates(locale, options).format(new Date(time));
}

export function dayAndClock(time: string, locale: string): string {
  return dates(locale, { day: "numeric", month: "long", hour: "2-digit", minute: "2-digit" }).format(new Date(time));
}

export function dayOfMonth(time: string, locale: string): string {
  return dates(locale, { day: "numeric", month: "long" }).format(new Date(time));
}

export function monthAndYear(time: string, locale: string): string {
  return dates(locale, { month: "long", year: "numeric" }).format(new Date(time));
}

/** "07:00": a time of any day, by whatever clock. */
export function wallClock(hour: number, minute: number, locale: string): string {
  return dates(locale, { hour: "2-digit", minute: "2-digit", timeZone: "UTC" }).format(Date.UTC(2024, 0, 1, hour, minute));
}

/** "Tue 2 Dec, 07:00" by the clocks of a time zone. */
export function weekdayAndClock(time: string, locale: string, timeZone: string): string {
  const day = { weekday: "short", day: "numeric", month: "short", timeZone } as const;
  return dates(locale, { ...day, hour: "2-digit", minute: "2-digit" }).format(new Date(time));
}

/** "Monday" for 1, "Sunday" for 7. */
export function weekday(day: number, locale: string): string {
  return dates(locale, { weekday: "long", timeZone: "UTC" }).format(Date.UTC(2024, 0, day)); // the 1st was a Monday
}

/** "Monday, Tuesday and Friday". */
export function list(parts: readonly string[], locale: string): string {
  return new Intl.ListFormat(own(locale), { type: "conjunction" }).format(parts);
}
