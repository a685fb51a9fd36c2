// What a browser loads before the first screen is there: the page, the scripts and styles it names, and the
// latin text font. Everything else (run view, other languages, other scripts' fonts) comes when it is needed.
import { readFileSync, readdirSync } from "node:fs";
import { gzipSync } from "node:zlib";

const LIMIT_KB = 250;
const root = new URL("../../src/planwerk/server/static/", import.meta.url);
const page = readFileSync(new URL("index.html", root), "utf8");
const named = [...page.matchAll(/(?:src|href)="\/(assets\/[^"]+)"/g)].map((match) => match[1]);
const fonts = readdirSync(new URL("assets/", root)).filter((name) => /^inter-latin-wght.*\.woff2$/.test(name));
const languages = readdirSync(new URL("assets/", root)).filter((name) => /^en-.*\.js$/.test(name));

let total = gzipSync(page).length;
for (const name of new Set([...named, ...[...fonts, ...languages].map((file) => `assets/${file}`)])) {
  const bytes = readFileSync(new URL(name, root));
  const size = name.endsWith(".woff2") ? bytes.length : gzipSync(bytes, { level: 9 }).length;
  total += size;
  console.log(`${(size / 1024).toFixed(1).padStart(8)} kB  ${name}`);
}
console.log(`${(total / 1024).toFixed(1).padStart(8)} kB  first load, limit ${LIMIT_KB} kB`);
if (total > LIMIT_KB * 1024) {
  console.error(`The first load is over ${LIMIT_KB} kB: load what the first screen does not need with import().`);
  process.exit(1);
}
