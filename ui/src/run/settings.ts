/** One setting of a profile, as its config's schema tells of it. */
export interface Setting {
  name: string;
  title: string;
  help: string;
  kind: "text" | "number" | "whole" | "switch" | "choice" | "json";
  choices: readonly string[];
  /** What it has where nothing is set. */
  initial: unknown;
}

type Schema = Record<string, unknown>;

/** The settings of a config's schema, in its order, named in the reader's language where the form has it. */
export function settingsOf(schema: Schema, locale: string): Setting[] {
  const properties = objectOf(schema.properties);
  return Object.entries(properties).map(([name, about]) => settingOf(name, resolved(objectOf(about), schema), locale));
}

function settingOf(name: string, about: Schema, locale: string): Setting {
  const form = objectOf(about["x-form"]);
  const choices = Array.isArray(about.enum) ? about.enum.filter((one): one is string => typeof one === "string") : [];
  return {
    name,
    title: wordsOf(objectOf(form.labels)[locale], about.title) ?? name,
    help: wordsOf(objectOf(form.hints)[locale], about.description) ?? "",
    kind: choices.length > 0 ? "choice" : kindOf(about.type),
    choices,
    initial: about.default ?? null,
  };
}

function wordsOf(...texts: readonly unknown[]): string | undefined {
  return texts.find((one): one is string => typeof one === "string");
}

function kindOf(type: unknown): Setting["kind"] {
  switch (type) {
    case "string":
      return "text";
    case "number":
      return "number";
    case "integer":
      return "whole";
    case "boolean":
      return "switch";
    default:
      return "json";
  }
}

/** A field that may be missing is what it is when it is there; a named schema is looked up. */
function resolved(about: Schema, root: Schema): Schema {
  const options = Array.isArray(about.anyOf) ? about.anyOf.map(objectOf).filter((one) => one.type !== "null") : [];
  const only = options.length === 1 ? options[0] : undefined;
  const target = only ?? about;
  const named = typeof target.$ref === "string" ? target.$ref.split("/").at(-1) : undefined;
  const definition = named === undefined ? target : objectOf(objectOf(root.$defs)[named]);
  return { ...definition, ...(only === undefined ? {} : about), ...definition, ...pick(about) };
}

/** What is said of the field itself wins over what is said of its type. */
function pick(about: Schema): Schema {
  return Object.fromEntries(["title", "description", "default", "x-form"].flatMap((key) => (key in about ? [[key, about[key]]] : [])));
}

function objectOf(value: unknown): Schema {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Schema) : {};
}

/** A setting's value as it stands in its field. */
export function textOf(setting: Setting, value: unknown): string {
  if (value === null || value === undefined) return "";
  if (setting.kind === "json") return JSON.stringify(value);
  return typeof value === "string" ? value : JSON.stringify(value);
}

/** What a field says, as a value; empty is the default. Undefined where it says nothing that could be meant. */
export function valueOf(setting: Setting, text: string): unknown {
  if (text.trim() === "" && setting.kind !== "text") return null;
  switch (setting.kind) {
    case "text":
    case "choice":
      return text === "" && setting.initial === null ? null : text;
    case "switch":
      return text === "true";
    default:
      return parsed(text, setting.kind);
  }
}

function parsed(text: string, kind: Setting["kind"]): unknown {
  try {
    const value: unknown = JSON.parse(text);
    const isNumber = typeof value === "number";
    if (kind === "number") return isNumber ? value : undefined;
    if (kind === "whole") return isNumber && Number.isInteger(value) ? value : undefined;
    return value;
  } catch {
    return undefined;
  }
}

/** The settings that differ from those the run had, as a merge patch. */
export function changesOf(
  settings: readonly Setting[],
  had: Readonly<Record<string, unknown>>,
  texts: Readonly<Record<string, string>>,
): Record<string, unknown> {
  const changes: Record<string, unknown> = {};
  for (const setting of settings) {
    const text = texts[setting.name];
    const before = textOf(setting, had[setting.name] ?? setting.initial);
    if (text !== undefined && text !== before) changes[setting.name] = valueOf(setting, text);
  }
  return changes;
}
