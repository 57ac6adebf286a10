// SPDX-License-Identifier: MIT

// Settings under a name: those that the page brings, and a person's own.
import { type ReadonlySignal, type Signal, signal } from "@preact/signals";
import { language, t } from "../language/language.ts";
import { isRecord } from "../text/parsedjson.ts";
import { pluginOf } from "./chain.ts";
import { nativeStages } from "./nativestages.ts";
import type { Value } from "./parameters.ts";
import { asExported, asImported, cleanSettings, type Settings } from "./settings.ts";

/** Parameters of the chain that fit a purpose. */
export interface BuiltIn {
  name: string;
  title: string; // the name in the reader's language
  help: string;
  sampling: Readonly<Record<string, Value>>;
}

export const builtIn: readonly BuiltIn[] = [
  {
    name: "Balanced", // untranslated: a key
    title: t("Balanced"),
    help: t("The server's own values."),
    sampling: {},
  },
  {
    name: "Precise", // untranslated: a key
    title: t("Precise"),
    help: t("Always the likeliest token: the same answer each time."),
    sampling: { temperature: 0 },
  },
  {
    name: "Creative", // untranslated: a key
    title: t("Creative"),
    help: t("A higher temperature, with the unlikely tail cut off relative to the best token."),
    sampling: { temperature: 1.2, top_k: 0, top_p: 1, min_p: 0.08 },
  },
  {
    name: "Varied", // untranslated: a key
    title: t("Varied"),
    help: t("DRY against phrases that come again, XTC against the most expected words."),
    sampling: {
      temperature: 1,
      dry_multiplier: 0.8,
      dry_penalty_last_n: -1,
      xtc_probability: 0.5,
      min_p: 0.03,
    },
  },
];

const ofStages = new Set([
  ...nativeStages.flatMap((stage) => stage.parameters),
  "mirostat",
  "mirostat_tau",
  "mirostat_eta",
  "min_keep",
]);

/**
 * The settings with a built-in preset: it decides about the native stages, and leaves all else as
 * it is.
 */
export function withBuiltIn(settings: Settings, preset: BuiltIn): Settings {
  const kept = Object.entries(settings.sampling).filter(([name]) => !ofStages.has(name));
  const { chain: _, ...rest } = settings;
  const off = settings.off.filter((stage) => pluginOf(stage) !== undefined);
  return { ...rest, off, sampling: { ...Object.fromEntries(kept), ...preset.sampling } };
}

/** All settings of a chat under a name. */
export interface Preset {
  name: string;
  settings: Settings;
}

const longestName = 60; // characters

/**
 * The name of the preset that the settings are, built-in or one's own; undefined: they are none.
 */
export function presetOf(settings: Settings, own: readonly Preset[]): string | undefined {
  const now = spelled(settings);
  const mine = own.find((preset) => spelled(preset.settings) === now);
  return (mine ?? builtIn.find((preset) => spelled(withBuiltIn(settings, preset)) === now))?.name;
}

/** Settings as text, alike for alike ones in whatever order their names are. */
function spelled(settings: Settings): string {
  return JSON.stringify(settings, (_, value) =>
    isRecord(value) ? Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1))) : value,
  );
}

const item = "penstock.presets";

/** A person's own presets, kept in the browser. */
export class Presets {
  private readonly kept: Signal<readonly Preset[]> = signal([]);
  private lost = false; // the browser keeps nothing: they are there until the page is left

  constructor(private readonly storage: Pick<Storage, "getItem" | "setItem">) {
    this.kept.value = this.read();
  }

  get list(): ReadonlySignal<readonly Preset[]> {
    return this.kept;
  }

  /**
   * Keeps settings under a name, in place of those that have it. False if the name is empty or a
   * built-in one's.
   */
  save(name: string, settings: Settings): boolean {
    const title = name.trim().slice(0, longestName);
    if (!isFree(title)) return false;
    this.change((list) => [...list.filter((preset) => preset.name !== title), { name: title, settings }]);
    return true;
  }

  /** False if the new name is empty, a built-in one's, or another preset's. */
  rename(name: string, to: string): boolean {
    const title = to.trim().slice(0, longestName);
    const taken = title !== name && this.read().some((preset) => preset.name === title);
    if (!isFree(title) || taken) return false;
    this.change((list) => list.map((preset) => (preset.name === name ? { ...preset, name: title } : preset)));
    return true;
  }

  remove(name: string): void {
    this.change((list) => list.filter((preset) => preset.name !== name));
  }

  /** All of them as a file. */
  export(): string {
    const presets = this.read().map(({ name, settings }) => ({ name, settings: asExported(settings) }));
    return JSON.stringify({ penstock: "presets", presets }, undefined, 2);
  }

  /**
   * Adds those of a file, in place of those with the same names. Returns how many; throws if it
   * has none.
   */
  import(file: string): number {
    const presets = presetsIn(parse(file)).map((preset) => ({
      ...preset,
      settings: asImported(preset.settings),
    }));
    if (presets.length === 0) throw new Error(t("There are no presets in this file."));
    const names = new Set(presets.map(({ name }) => name));
    this.change((list) => [...list.filter(({ name }) => !names.has(name)), ...presets]);
    return presets.length;
  }

  /** Another tab may have changed them meanwhile, so they are read anew. */
  private change(change: (list: readonly Preset[]) => Preset[]): void {
    const list = change(this.read()).sort((a, b) => a.name.localeCompare(b.name, language));
    this.kept.value = list;
    try {
      this.storage.setItem(item, JSON.stringify({ presets: list }));
    } catch {
      this.lost = true;
    }
  }

  private read(): readonly Preset[] {
    if (this.lost) return this.kept.peek();
    try {
      return presetsIn(JSON.parse(this.storage.getItem(item) ?? "{}"));
    } catch {
      return []; // not written by this page, or the browser keeps nothing
    }
  }
}

/** Tells whether a stored preset may have its name, which may be a title in another language. */
function isOwnName(name: string): boolean {
  return name !== "" && !builtIn.some((preset) => preset.name === name);
}

/** Tells whether a new preset may have a name. */
function isFree(name: string): boolean {
  return isOwnName(name) && !builtIn.some((preset) => preset.title === name);
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** What is valid of a list of presets of any age and any shape. */
function presetsIn(body: unknown): Preset[] {
  const list = (body as { presets?: unknown } | null | undefined)?.presets;
  const named = new Map<string, Preset>();
  for (const entry of Array.isArray(list) ? list : []) {
    const name = typeof entry?.name === "string" ? entry.name.trim().slice(0, longestName) : "";
    if (isOwnName(name)) named.set(name, { name, settings: cleanSettings(entry.settings) });
  }
  return [...named.values()];
}
