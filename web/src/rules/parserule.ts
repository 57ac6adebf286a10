// SPDX-License-Identifier: MIT

// Rules in a person's words: what each becomes, a script of the gallery or a format.
import { t } from "../language/language.ts";
import type { Format, Rule } from "../settings/settings.ts";
import {
  fieldSeparators,
  type Kind,
  numberOf,
  patterns,
  scriptOf,
  separators,
  typeNames,
} from "./patterns.ts";

/** What a rule becomes. */
export type Made =
  | { kind: "script"; script: string; config?: Record<string, unknown> } // of the gallery
  | { kind: "format"; format: Exclude<Format, { kind: "text" } | { kind: "json" }> };

/** Rules to begin with, which also show what is understood. */
export const examples: readonly string[] = [
  t("never say frog"),
  t("at most 3 sentences"),
  t("at most 20 words"),
  t("a date"),
  t("a number"),
  t("yes or no"),
  t("one of: red, green, blue"),
  t("JSON with name, age (number), tags (list)"),
  t("a list of 3 points"),
  t("without the letter e"),
];

const mostWords = 200; // a pattern for more is too large
const mostCharacters = 200;
const mostPoints = 50;

/** What a rule of a kind becomes, by its parts; undefined where they make none. */
const makers: Readonly<Record<Kind, (part: string, other: string) => Made | undefined>> = {
  letter: (letter) => script("lipogram", { letter: letter.toLowerCase() }),
  digits: () => script("no-digits"),
  ban: (words) => {
    const phrases = listed(words).map((word) => word.toLowerCase());
    return phrases.length > 0 ? script("ban-phrases", { phrases }) : undefined;
  },
  sentences: (n) => counted(n, 9999, (sentences) => script("sentences", { sentences })),
  sentence: () => script("sentences", { sentences: 1 }),
  words: (n) => counted(n, mostWords, (most) => format("regex", `\\S+([ \\n]\\S+){0,${most - 1}}`)),
  characters: (n) => counted(n, mostCharacters, (most) => format("regex", `.{1,${most}}`)),
  tokens: (n) => counted(n, 9999, (tokens) => script("at-least", { tokens })),
  date: () => format("regex", "\\d{4}-(0[1-9]|1[0-2])-(0[1-9]|[12]\\d|3[01])"),
  integer: () => format("regex", "-?\\d{1,15}"),
  number: () => format("regex", "-?\\d{1,15}(\\.\\d{1,10})?"),
  answers: (yes, no) => format("regex", `${capitalized(yes)}|${capitalized(no)}`),
  choice: (words) => {
    const choices = listed(words);
    return choices.length > 1 ? format("regex", choices.map(escaped).join("|")) : undefined;
  },
  fields: schemaOf,
  points: (n) =>
    counted(n, mostPoints, (items) =>
      format("grammar", `root ::= ${"item ".repeat(items).trim()}\nitem ::= "- " [^\\n]+ "\\n"`),
    ),
  list: () => script("bullets"),
  alphabet: (name) => {
    const found = scriptOf(name);
    return found === undefined ? undefined : script("one-alphabet", { script: found });
  },
};

/** What a rule becomes; undefined where nothing is known that sees to it. */
export function parseRule(text: string): Made | undefined {
  const plain = text
    .trim()
    .replace(/[，；：（）]/g, (sign) => sign.normalize("NFKC")) // as Chinese keyboards have them
    .replace(/\s+/g, " ")
    .replace(/[.!。！]$/, "");
  for (const [kind, pattern] of patterns) {
    const match = pattern.exec(plain);
    const made = match === null ? undefined : makers[kind](match[1] ?? "", match[2] ?? "");
    if (made !== undefined) return made;
  }
  return undefined;
}

/** What is made of a number that people wrote; undefined where it is none, or too large. */
function counted(word: string, most: number, make: (n: number) => Made): Made | undefined {
  const n = numberOf(word);
  return n === undefined || n > most ? undefined : make(n);
}

function capitalized(word: string): string {
  return word.charAt(0).toUpperCase() + word.slice(1).toLowerCase();
}

/** What a rule becomes, in a line. */
export function madeWords(made: Made): string {
  if (made.kind === "script")
    return t("a policy: the script {name} watches each word", { name: made.script });
  const { kind, text } = made.format;
  if (kind === "schema") return t("a JSON schema");
  if (kind === "grammar") return t("a grammar");
  return t("a pattern: {pattern}", { pattern: text.length > 60 ? `${text.slice(0, 60)}…` : text });
}

/** The rule as settings have it. source finds a script of the gallery. */
export function ruleOf(text: string, made: Made, source: (script: string) => string): Rule {
  const rule: Rule = { text: text.trim(), on: true };
  if (made.kind === "format") return { ...rule, format: made.format };
  const { script: name, config } = made;
  return { ...rule, source: source(name), ...(config !== undefined && { config }) };
}

function script(name: string, config?: Record<string, unknown>): Made {
  return { kind: "script", script: name, ...(config !== undefined && { config }) };
}

function format(kind: "schema" | "grammar" | "regex", text: string): Made {
  return { kind: "format", format: { kind, text } };
}

/** The words of a list: "a, b or c", each of which may stand in quotation marks. */
function listed(words: string): string[] {
  return words
    .split(separators)
    .map((word) => word.trim().replace(/^["'“”‘’«»„「」『』]+|["'“”‘’«»„「」『』]+$/g, ""))
    .filter((word) => word !== "");
}

/** A text that stands for itself in an expression of Go's syntax. */
function escaped(text: string): string {
  return text.replace(/[\\^$.|?*+()[\]{}]/g, "\\$&");
}

const types: Readonly<Record<keyof typeof typeNames, unknown>> = {
  text: { type: "string", maxLength: 200 },
  number: { type: "number" },
  integer: { type: "integer" },
  date: { type: "string", pattern: "^\\d{4}-(0[1-9]|1[0-2])-(0[1-9]|[12]\\d|3[01])$" },
  boolean: { type: "boolean" },
  list: { type: "array", items: { type: "string", maxLength: 100 }, maxItems: 20 },
};

/** The type that people call so; undefined where it is none. */
function typeOf(words: string): unknown {
  const name = words.toLowerCase().replace(/^(?:an?|eine?) /, "");
  const found = Object.entries(typeNames).find(([, names]) => (names as readonly string[]).includes(name));
  return found && types[found[0] as keyof typeof typeNames];
}

/** A schema of named fields, each of which may say in brackets what it is. */
function schemaOf(fields: string): Made | undefined {
  const properties = new Map<string, unknown>();
  for (const field of fields.split(fieldSeparators)) {
    const [, name, type = "text"] =
      /^([\p{L}_][\p{L}\p{N}_ -]*?)(?: ?\(([^)]*)\))?$/u.exec(field.trim()) ?? [];
    const known = typeOf(type);
    if (name === undefined || known === undefined) return undefined;
    properties.set(name, known);
  }
  const schema = {
    type: "object",
    properties: Object.fromEntries(properties),
    required: [...properties.keys()],
    additionalProperties: false,
  };
  return format("schema", JSON.stringify(schema, undefined, 2));
}
