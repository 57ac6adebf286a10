// SPDX-License-Identifier: MIT

// The texts of the page in the reader's language. The code has them in English, which are the keys
// of the other languages' tables, so whoever reads the code reads what the page says.
// docs/development.md says how to add a language.

/** The languages that the page speaks, by the names that their readers know. */
export const languages = { en: "English", de: "Deutsch", "zh-Hans": "简体中文" } as const;
export type Language = keyof typeof languages;

/**
 * A language's texts by those of the code. A text with a count has a form for each of the
 * language's plurals, in the order zero, one, two, few, many, other.
 */
export type Table = Readonly<Record<string, string | readonly string[]>>;

type Values = Readonly<Record<string, string | number>>;

const item = "penstock.language"; // what was chosen in this browser, if anything was

// This module ends when the table is there, and so all that have texts begin with it.
const wanted = worker() ? known(self.name) : known(chosenLanguage() ?? ofBrowser());
const release = worker() ? heldMessages() : undefined;
const table = await load();
if (release !== undefined) setTimeout(release);

/**
 * The language of the page: the chosen one, or the first of the browser's that is there; English
 * where its table did not come.
 */
export const language: Language = table === undefined ? "en" : wanted;

const plurals = new Intl.PluralRules(language);
const numbers = new Intl.NumberFormat(language);
const lists = new Intl.ListFormat(language === "en" ? "en-GB" : language); // without a comma before "and"
if (typeof document !== "undefined") document.documentElement.lang = language;

/** A text, in which each {name} stands for a value. Numbers are as the language has them. */
export function t(text: string, values: Values = {}): string {
  const found = table?.[text] ?? withoutContext(text);
  return typeof found === "string" ? fill(found, values) : text;
}

/** A text about so many things, which is {n} in it: one for a single thing, many for others. */
export function tn(n: number, one: string, many: string, values: Values = {}): string {
  const forms = table?.[many];
  const form = typeof forms === "object" ? forms[formOf(n)] : undefined;
  return fill(form ?? (n === 1 ? one : many), { n, ...values });
}

/** A text in which {name} stands for an element or a string, as the children of an element. */
export function tx<T>(text: string, values: Readonly<Record<string, T>>): (T | string)[] {
  return t(text)
    .split(/\{(\w+)\}/)
    .map((part, at) => (at % 2 === 1 ? (values[part] ?? `{${part}}`) : part));
}

/** "a, b and c" */
export function list(words: readonly string[]): string {
  return lists.format(words);
}

/** Has the page speak another language, or the browser's own: it is loaded anew. */
export function choose(wanted: Language | undefined): void {
  try {
    if (wanted === undefined) localStorage.removeItem(item);
    else localStorage.setItem(item, wanted);
  } catch {
    return; // where nothing is kept, the browser's language is spoken
  }
  location.reload();
}

/** What was chosen in this browser, if anything was. */
export function chosenLanguage(): string | undefined {
  try {
    return localStorage.getItem(item) ?? undefined;
  } catch {
    return undefined;
  }
}

function fill(text: string, values: Values): string {
  return text.replace(/\{(\w+)\}/g, (whole, name) => {
    const value = values[name];
    return typeof value === "number" ? numbers.format(value) : (value ?? whole);
  });
}

/** One word may have two meanings: t("verb|Open"). */
function withoutContext(text: string): string {
  return text.replace(/^[a-z ]+\|/, "");
}

function formOf(n: number): number {
  const { pluralCategories } = plurals.resolvedOptions();
  const order = ["zero", "one", "two", "few", "many", "other"].filter((one) =>
    pluralCategories.includes(one as Intl.LDMLPluralRule),
  );
  return order.indexOf(plurals.select(n));
}

/** The page says in a worker's name which language it is to speak. */
function worker(): boolean {
  return typeof document === "undefined" && typeof self !== "undefined" && typeof self.name === "string";
}

/**
 * Holds the messages that come to a worker while its table is loaded: they would be lost, since
 * nobody listens yet. What it returns lets them go on, once all modules of the worker have begun.
 */
function heldMessages(): () => void {
  const held: MessageEvent[] = [];
  const hold = (event: MessageEvent) => {
    event.stopImmediatePropagation();
    const { data, ports } = event; // which stays stopped
    held.push(new MessageEvent("message", { data, ports: [...ports] }));
  };
  self.addEventListener("message", hold);
  return () => {
    self.removeEventListener("message", hold);
    for (const event of held) self.dispatchEvent(event);
  };
}

function known(name: string | undefined): Language {
  return name !== undefined && Object.hasOwn(languages, name) ? (name as Language) : "en";
}

function ofBrowser(): Language | undefined {
  const names = Object.keys(languages) as Language[];
  const wanted = typeof document === "undefined" ? [] : navigator.languages; // tests of Node have the code's
  return wanted.map((tag) => names.find((name) => alike(name, tag))).find((name) => name !== undefined);
}

/** Tells whether who reads one also reads the other: zh-CN is written as zh-Hans, zh-TW is not. */
function alike(name: string, tag: string): boolean {
  try {
    const [one, other] = [name, tag].map((each) => new Intl.Locale(each).maximize());
    return one?.language === other?.language && one?.script === other?.script;
  } catch {
    return false; // no language's name
  }
}

async function load(): Promise<Table | undefined> {
  try {
    if (wanted === "de") return (await import("./de.ts")).default;
    if (wanted === "zh-Hans") return (await import("./zh-hans.ts")).default;
    return {};
  } catch {
    return undefined; // a text in English is better than none
  }
}
