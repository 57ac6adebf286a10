// SPDX-License-Identifier: MIT
import type { GenerateRequest, Message } from "./protocol.ts";

/** What a person chose; undefined leaves the host's default. */
export interface Settings {
  system: string;
  temperature?: number;
  maxTokens?: number;
  seed?: number;
  keepGoing: boolean; // past the model's own end, up to the token limit
  trace: boolean; // show how each token was chosen
  plugins: string[];
  configs: Record<string, string>; // by plugin: JSON, as it was typed
}

const settingsItem = "penstock.settings";
const keyItem = "penstock.key";

/** Settings and API key, kept in the browser from one visit to the next. */
export class Keeper {
  constructor(private readonly storage: Pick<Storage, "getItem" | "setItem" | "removeItem">) {}

  settings(): Settings {
    try {
      return clean(JSON.parse(this.storage.getItem(settingsItem) ?? "{}"));
    } catch {
      return clean({}); // not JSON: written by something else
    }
  }

  keep(settings: Settings): void {
    this.storage.setItem(settingsItem, JSON.stringify(settings));
  }

  key(): string {
    return this.storage.getItem(keyItem) ?? "";
  }

  keepKey(key: string): void {
    if (key === "") this.storage.removeItem(keyItem);
    else this.storage.setItem(keyItem, key);
  }
}

/** Takes what is valid of stored settings; a stored value can be of any age and any shape. */
export function clean(stored: unknown): Settings {
  const raw = (typeof stored === "object" && stored !== null ? stored : {}) as Record<string, unknown>;
  const settings: Settings = {
    system: typeof raw.system === "string" ? raw.system : "",
    keepGoing: raw.keepGoing === true,
    trace: raw.trace === true,
    plugins: Array.isArray(raw.plugins) ? raw.plugins.filter((name) => typeof name === "string") : [],
    configs: {},
  };
  for (const [name, text] of Object.entries(raw.configs ?? {})) {
    if (typeof text === "string" && configOf(text) !== undefined) settings.configs[name] = text;
  }
  for (const field of ["temperature", "maxTokens", "seed"] as const) {
    const value = raw[field];
    if (typeof value === "number" && Number.isFinite(value) && value >= 0) settings[field] = value;
  }
  return settings;
}

/** The configuration that a text is: a JSON object; undefined where it is none. */
export function configOf(text: string): object | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null && !Array.isArray(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

/** The request for an answer to messages. Only plugins that the host offers are named. */
export function request(
  settings: Settings,
  model: string,
  offered: readonly string[],
  messages: Message[],
): GenerateRequest {
  const body: GenerateRequest = { messages };
  if (model !== "") body.model = model;
  if (settings.temperature !== undefined) body.temperature = settings.temperature;
  if (settings.maxTokens !== undefined) body.max_tokens = settings.maxTokens;
  if (settings.seed !== undefined) body.seed = settings.seed;
  if (settings.keepGoing) body.ignore_eos = true;
  if (settings.trace) body.trace = true;
  const plugins = settings.plugins.filter((name) => offered.includes(name));
  if (plugins.length > 0) {
    body.plugins = plugins.map((name) => {
      const config = configOf(settings.configs[name] ?? "");
      return config === undefined ? name : { name, config };
    });
  }
  return body;
}
