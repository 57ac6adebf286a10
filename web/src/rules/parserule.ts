// SPDX-License-Identifier: MIT

// Rules in a person's words: what each becomes, a script of the gallery or a format.
import type { Format, Rule } from "../settings/settings.ts";

/** What a rule becomes. */
export type Made =
  | { kind: "script"; script: string; config?: Record<string, unknown> } // of the gallery
  | { kind: "format"; format: Exclude<Format, { kind: "text" } | { kind: "json" }> };

/** Rules to begin with, which also show what is understood. */
export const examples: readonly string[] = [
  "never say frog",
  "at most 3 sentences",
  "at most 20 words",
  "a date",
  "a number",
  "yes or no",
  "one of: red, green, blue",
  "JSON with name, age (number), tags (list)",
  "a list of 3 points",
  "without the letter e",
];

interface Kind {
  pattern: RegExp;
  make(parts: string[]): Made | undefined; // what the groups of the pattern matched
}

const amount = "(\\d{1,4}|an?|one|two|three|four|five|six|seven|eight|nine|ten)";
const mostWords = 200; // a pattern for more is too large
const mostPoints = 50;

const kinds: readonly Kind[] = [
  {
    pattern: /^(?:without|never use|no) (?:the )?letter (\p{L})$/iu,
    make: ([letter = ""]) => script("lipogram", { letter: letter.toLowerCase() }),
  },
  {
    pattern: /^(?:without|never use|no) (?:digits|figures|numerals)$/i,
    make: () => script("no-digits"),
  },
  {
    pattern:
      /^(?:never|do not|don['’]t|without)(?: (?:say|saying|write|writing|use|using|mention|mentioning))? (.+)$/i,
    make: ([words = ""]) => {
      const phrases = listed(words).map((word) => word.toLowerCase());
      return phrases.length > 0 ? script("ban-phrases", { phrases }) : undefined;
    },
  },
  {
    pattern: new RegExp(`^(?:at most|up to|no more than|max(?:imum)?) ${amount} sentences?$`, "i"),
    make: ([n = ""]) => script("sentences", { sentences: numberOf(n) }),
  },
  {
    pattern: /^(?:in |only )?(?:one|a single) sentence(?: only)?$/i,
    make: () => script("sentences", { sentences: 1 }),
  },
  {
    pattern: new RegExp(`^(?:at most|up to|no more than|max(?:imum)?) ${amount} words?$`, "i"),
    make: ([n = ""]) => {
      const most = numberOf(n);
      return most <= mostWords ? format("regex", `\\S+([ \\n]\\S+){0,${most - 1}}`) : undefined;
    },
  },
  {
    pattern: new RegExp(`^at least ${amount} tokens?$`, "i"),
    make: ([n = ""]) => script("at-least", { tokens: numberOf(n) }),
  },
  {
    pattern: /^(?:an? |only an? )?(?:iso )?date$/i,
    make: () => format("regex", "\\d{4}-(0[1-9]|1[0-2])-(0[1-9]|[12]\\d|3[01])"),
  },
  {
    pattern: /^(?:an? |only an? )?(?:whole number|integer)$/i,
    make: () => format("regex", "-?\\d{1,15}"),
  },
  { pattern: /^(?:an? |only an? )?number$/i, make: () => format("regex", "-?\\d{1,15}(\\.\\d{1,10})?") },
  {
    pattern: /^(?:only |answer )?(?:with )?yes or no$/i,
    make: () => format("regex", "Yes|No"),
  },
  {
    pattern: /^(?:only )?(?:one of|either):? (.+)$/i,
    make: ([words = ""]) => {
      const choices = listed(words);
      return choices.length > 1 ? format("regex", choices.map(escaped).join("|")) : undefined;
    },
  },
  {
    pattern: /^(?:an? )?(?:json|object)(?: object)? with (.+)$/i,
    make: ([fields = ""]) => schemaOf(fields),
  },
  {
    pattern: new RegExp(
      `^(?:an? )?(?:list of |exactly )?${amount} (?:bullet )?(?:points|bullets|items)$`,
      "i",
    ),
    make: ([n = ""]) => {
      const items = numberOf(n);
      if (items > mostPoints) return undefined;
      return format("grammar", `root ::= ${"item ".repeat(items).trim()}\nitem ::= "- " [^\\n]+ "\\n"`);
    },
  },
  {
    pattern: /^(?:an? |only an? )?(?:bulleted )?list$|^bullets$|^bullet points$/i,
    make: () => script("bullets"),
  },
  {
    pattern:
      /^(?:only )?(latin|cyrillic|greek|han|hangul|arabic|hebrew) (?:letters|script|alphabet)(?: only)?$/i,
    make: ([name = ""]) =>
      script("one-alphabet", { script: name.charAt(0).toUpperCase() + name.slice(1).toLowerCase() }),
  },
];

/** What a rule becomes; undefined where nothing is known that sees to it. */
export function parseRule(text: string): Made | undefined {
  const plain = text.trim().replace(/\s+/g, " ").replace(/[.!]$/, "");
  for (const { pattern, make } of kinds) {
    const match = pattern.exec(plain);
    if (match !== null) return make(match.slice(1));
  }
  return undefined;
}

/** What a rule becomes, in a line. */
export function madeWords(made: Made): string {
  if (made.kind === "script") return `a policy: the script ${made.script} watches each word`;
  const { kind, text } = made.format;
  if (kind === "schema") return "a JSON schema";
  if (kind === "grammar") return "a grammar";
  return `a pattern: ${text.length > 60 ? `${text.slice(0, 60)}…` : text}`;
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

const numbers = ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"];

function numberOf(word: string): number {
  const spelled = numbers.indexOf(word.toLowerCase().replace(/^an?$/, "one"));
  return Math.max(1, spelled >= 0 ? spelled : Number(word));
}

/** The words of a list: "a, b or c", each of which may stand in quotation marks. */
function listed(words: string): string[] {
  return words
    .split(/\s*(?:,|;)\s*(?:or |nor |and )?|\s+(?:or|nor)\s+/i)
    .map((word) => word.trim().replace(/^["'“”‘’«»]+|["'“”‘’«»]+$/g, ""))
    .filter((word) => word !== "");
}

/** A text that stands for itself in an expression of Go's syntax. */
function escaped(text: string): string {
  return text.replace(/[\\^$.|?*+()[\]{}]/g, "\\$&");
}

const types = new Map<string, unknown>(
  Object.entries({
    text: { type: "string", maxLength: 200 },
    number: { type: "number" },
    integer: { type: "integer" },
    date: { type: "string", pattern: "^\\d{4}-(0[1-9]|1[0-2])-(0[1-9]|[12]\\d|3[01])$" },
    "yes or no": { type: "boolean" },
    boolean: { type: "boolean" },
    list: { type: "array", items: { type: "string", maxLength: 100 }, maxItems: 20 },
  }),
);

/** A schema of named fields, each of which may say in brackets what it is. */
function schemaOf(fields: string): Made | undefined {
  const properties = new Map<string, unknown>();
  for (const field of fields.split(/\s*(?:,|;)\s*(?:and )?|\s+and\s+/)) {
    const [, name, type = "text"] =
      /^([\p{L}_][\p{L}\p{N}_ -]*?)(?: ?\(([^)]*)\))?$/u.exec(field.trim()) ?? [];
    const known = types.get(type.toLowerCase().replace(/^an? /, ""));
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
