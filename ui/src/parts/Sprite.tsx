/** The icons: a 24 grid, one stroke that does not scale. Drawn once in the page and used by name. */
const SYMBOLS = {
  again: (
    <>
      <path d="M19 12a7 7 0 1 1-2.3-5.2L19 9"/>
      <path d="M19 4.8V9h-4.2"/>
    </>
  ),
  agent: <rect x="6.7" y="6.7" width="10.6" height="10.6" rx="2.2" transform="rotate(45 12 12)"/>,
  alert: (
    <>
      <path d="M12 4.5 20.5 19h-17z"/>
      <path d="M12 10v4.2M12 16.6v.1"/>
    </>
  ),
  approve: (
    <>
      <path d="M12 4 18.5 6.4v5.2c0 3.9-2.6 6.8-6.5 8.4-3.9-1.6-6.5-4.5-6.5-8.4V6.4z"/>
      <path d="m9.3 11.9 2 2 3.5-3.9"/>
    </>
  ),
  arrowdown: <path d="M12 5.5v13M6.5 13l5.5 5.5 5.5-5.5"/>,
  book: (
    <>
      <path d="M12 6.5C10.3 5.2 8 4.7 4.5 4.7v13c3.5 0 5.8.5 7.5 1.8 1.7-1.3 4-1.8 7.5-1.8v-13c-3.5 0-5.8.5-7.5 1.8z"/>
      <path d="M12 6.5v13"/>
    </>
  ),
  chat: (
    <>
      <path d="M4.5 6.5a2 2 0 0 1 2-2h11a2 2 0 0 1 2 2v7.5a2 2 0 0 1-2 2H11l-4.5 3.5V16a2 2 0 0 1-2-2z"/>
    </>
  ),
  check: <path d="m5.5 12.5 4.3 4.3 8.7-9.6"/>,
  copy: (
    <>
      <rect x="8.5" y="8.5" width="11" height="11" rx="2"/>
      <path d="M15.5 8.5v-2a2 2 0 0 0-2-2h-7a2 2 0 0 0-2 2v7a2 2 0 0 0 2 2h2"/>
    </>
  ),
  done: (
    <>
      <circle cx="12" cy="12" r="8"/>
      <path d="m8.5 12.3 2.4 2.4 4.6-5.2"/>
    </>
  ),
  down: <path d="m7 10 5 5 5-5"/>,
  failed: (
    <>
      <circle cx="12" cy="12" r="8"/>
      <path d="m9.3 9.3 5.4 5.4M14.7 9.3l-5.4 5.4"/>
    </>
  ),
  fit: (
    <>
      <path d="M9 4.5H6.5a2 2 0 0 0-2 2V9M15 4.5h2.5a2 2 0 0 1 2 2V9M9 19.5H6.5a2 2 0 0 1-2-2V15M15 19.5h2.5a2 2 0 0 0 2-2V15"/>
    </>
  ),
  fold: (
    <>
      <rect x="4" y="5" width="16" height="14" rx="2"/>
      <path d="M9.5 5v14"/>
    </>
  ),
  follow: <path d="M6 5v6.5a3 3 0 0 0 3 3h9M14.5 11l3.5 3.5-3.5 3.5"/>,
  fork: (
    <>
      <circle cx="7" cy="5.5" r="2"/>
      <circle cx="7" cy="18.5" r="2"/>
      <circle cx="17" cy="8.5" r="2"/>
      <path d="M7 7.5v9M17 10.5c0 3-3 4-6 4.3-2 .2-4 .7-4 1.7"/>
    </>
  ),
  globe: (
    <>
      <circle cx="12" cy="12" r="8"/>
      <path d="M4 12h16M12 4c2.3 2.3 3.4 5 3.4 8s-1.1 5.7-3.4 8c-2.3-2.3-3.4-5-3.4-8S9.7 6.3 12 4z"/>
    </>
  ),
  halt: (
    <>
      <circle cx="12" cy="12" r="8"/>
      <rect x="9.3" y="9.3" width="5.4" height="5.4" rx=".8"/>
    </>
  ),
  inbox: (
    <>
      <path d="M4 13.5 6.6 6.2A1.8 1.8 0 0 1 8.3 5h7.4a1.8 1.8 0 0 1 1.7 1.2L20 13.5V17a2 2 0 0 1-2 2H6a2 2 0 0 1-2-2z"/>
      <path d="M4 13.5h4.5l1.3 2.2h4.4l1.3-2.2H20"/>
    </>
  ),
  left: <path d="m14 7-5 5 5 5"/>,
  lock: (
    <>
      <rect x="5.5" y="10.5" width="13" height="9" rx="2"/>
      <path d="M8.5 10.5V8a3.5 3.5 0 0 1 7 0v2.5"/>
    </>
  ),
  memory: <path d="M7.5 4.5h9a1.5 1.5 0 0 1 1.5 1.5v13.5l-6-4-6 4V6a1.5 1.5 0 0 1 1.5-1.5z"/>,
  minus: <path d="M6 12h12"/>,
  more: (
    <>
      <circle cx="6" cy="12" r=".9"/>
      <circle cx="12" cy="12" r=".9"/>
      <circle cx="18" cy="12" r=".9"/>
    </>
  ),
  pencil: <path d="m5 19 .9-4L16.3 4.6a1.7 1.7 0 0 1 2.4 0l.7.7a1.7 1.7 0 0 1 0 2.4L9 18.1z"/>,
  next: <path d="M7 6v12l8.5-6zM17.5 6v12"/>,
  pause: <path d="M9 6v12M15 6v12"/>,
  person: (
    <>
      <circle cx="12" cy="8.5" r="3.5"/>
      <path d="M5.5 19.5c.5-3.6 3-5.5 6.5-5.5s6 1.9 6.5 5.5"/>
    </>
  ),
  plus: <path d="M12 6v12M6 12h12"/>,
  play: <path d="M8 5.5v13l10.5-6.5z"/>,
  prev: <path d="M17 6v12l-8.5-6zM6.5 6v12"/>,
  question: (
    <>
      <circle cx="12" cy="12" r="8"/>
      <path d="M9.8 9.9a2.25 2.25 0 1 1 3.3 2c-.7.4-1.1.9-1.1 1.7M12 16.1v.1"/>
    </>
  ),
  right: <path d="m10 7 5 5-5 5"/>,
  runs: (
    <>
      <circle cx="6" cy="6" r="2"/>
      <circle cx="18" cy="12" r="2"/>
      <circle cx="6" cy="18" r="2"/>
      <path d="M8 6h3.5a3 3 0 0 1 3 3v.2M8 18h3.5a3 3 0 0 0 3-3v-.2"/>
    </>
  ),
  stop: <rect x="7" y="7" width="10" height="10" rx="1.5"/>,
  save: <path d="M12 4.5v10M7.5 10.5l4.5 4.5 4.5-4.5M5 19.5h14"/>,
  todo: <circle cx="12" cy="12" r="8" strokeDasharray="2.5 2.53"/>,
  trash: (
    <>
      <path d="M4.5 7h15M9.5 7V5.5a1 1 0 0 1 1-1h3a1 1 0 0 1 1 1V7"/>
      <path d="m6.5 7 .8 11a1.6 1.6 0 0 0 1.6 1.5h6.2a1.6 1.6 0 0 0 1.6-1.5l.8-11M10.2 10.5v5.5M13.8 10.5v5.5"/>
    </>
  ),
  up: <path d="M12 18.5v-13M6.5 11 12 5.5l5.5 5.5"/>,
  wait: (
    <>
      <circle cx="12" cy="12" r="8"/>
      <path d="M12 7.5V12l3 2"/>
    </>
  ),
  work: <path d="M12 4a8 8 0 1 1-8 8"/>,
  write: (
    <>
      <path d="M12 5H6.5a2 2 0 0 0-2 2v10.5a2 2 0 0 0 2 2H17a2 2 0 0 0 2-2V12"/>
      <path d="m10 14 .6-2.8 7.7-7.7a1.55 1.55 0 0 1 2.2 2.2l-7.7 7.7z"/>
    </>
  ),
  x: <path d="m7 7 10 10M17 7 7 17"/>,
};

export type IconName = keyof typeof SYMBOLS;

export function isIcon(name: string): name is IconName {
  return name in SYMBOLS;
}

export function Sprite() {
  return (
    <svg className="sprite" aria-hidden="true">
      {Object.entries(SYMBOLS).map(([name, shape]) => (
        <symbol key={name} id={`i-${name}`} viewBox="0 0 24 24">
          {shape}
        </symbol>
      ))}
      {["model", "people", "failed"].map((kind) => (
        <pattern
          key={kind}
          id={`hatch-${kind}`}
          className={`hatch ${kind}`}
          width="5"
          height="5"
          patternUnits="userSpaceOnUse"
          patternTransform="rotate(45)"
        >
          <path d="M0 0V5" />
        </pattern>
      ))}
    </svg>
  );
}
