// SPDX-License-Identifier: MIT

/** A plugin that a chat uses, and its configuration. */
export interface PluginChoice {
  name: string;
  config?: Record<string, unknown>;
}

/** What the answers of a chat are bound to. */
export type Format =
  | { kind: "text" }
  | { kind: "json" } // any object
  | { kind: "schema" | "grammar" | "regex"; text: string };

/** What a person chose for a chat. What is absent is left to the host. */
export interface Settings {
  model?: string;
  system: string;
  sampling: Record<string, number | boolean>; // by the host's names: temperature, max_tokens, seed, …
  stop: string[];
  chain?: string[]; // the stages in their order, plugins as "plugin:NAME"
  plugins: PluginChoice[];
  format: Format;
  trace: boolean; // keep how each token was chosen
}

export const defaults: Settings = {
  system: "",
  sampling: {},
  stop: [],
  plugins: [],
  format: { kind: "text" },
  trace: false,
};

/** Takes what is valid of stored or imported settings, which can be of any age and any shape. */
export function clean(stored: unknown): Settings {
  const raw = record(stored);
  const settings: Settings = {
    system: typeof raw.system === "string" ? raw.system : "",
    sampling: Object.fromEntries(Object.entries(record(raw.sampling)).filter(isParameter)),
    stop: texts(raw.stop),
    plugins: (Array.isArray(raw.plugins) ? raw.plugins : []).map(plugin).filter((p) => p !== undefined),
    format: format(raw.format),
    trace: raw.trace === true,
  };
  if (typeof raw.model === "string" && raw.model !== "") settings.model = raw.model;
  if (Array.isArray(raw.chain)) settings.chain = texts(raw.chain);
  return settings;
}

function record(value: unknown): Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value)
    ? (value as Record<string, unknown>)
    : {};
}

function texts(value: unknown): string[] {
  return Array.isArray(value) ? value.filter((text) => typeof text === "string") : [];
}

function isParameter(entry: [string, unknown]): entry is [string, number | boolean] {
  return typeof entry[1] === "boolean" || Number.isFinite(entry[1]);
}

function plugin(value: unknown): PluginChoice | undefined {
  const { name, config } = record(value);
  if (typeof name !== "string") return undefined;
  return config === undefined ? { name } : { name, config: record(config) };
}

function format(value: unknown): Format {
  const { kind, text } = record(value);
  if (kind === "json") return { kind };
  if ((kind === "schema" || kind === "grammar" || kind === "regex") && typeof text === "string")
    return { kind, text };
  return { kind: "text" };
}
