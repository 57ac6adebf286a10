// SPDX-License-Identifier: MIT

// The settings of a chat, their defaults, and how stored ones are made valid.
import { parameterNamed, type Value } from "./parameters.ts";

/** A plugin that a chat uses, and its configuration. */
export interface PluginChoice {
  name: string;
  config?: Record<string, unknown>;
  on_error?: "skip"; // a fault of it does not end the answer
}

/** A function that the model may call. A person answers its calls. */
export interface FunctionTool {
  name: string;
  description: string;
  parameters: Record<string, unknown>; // a JSON schema of an object
  off?: true; // it is kept, and not told to the model
}

/** A script that steers the answers of a chat. */
export interface Script {
  source: string; // JavaScript
  config: string; // JSON as it was typed, which may be none; empty: the script gets no configuration
  on: boolean; // the chat's requests have it
  imported?: true; // it came in a file, and nobody has said yet that it may run
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
  sampling: Record<string, Value>; // by the host's names: temperature, max_tokens, seed, … (parameters.ts)
  stop: string[];
  chain?: string[]; // the stages in their order, plugins as "plugin:NAME"
  off: string[]; // stages and plugins that are switched off but keep their place and configuration
  plugins: PluginChoice[];
  format: Format;
  templateArgs?: Record<string, unknown>; // what the chat template is told besides
  trace: boolean; // keep how each token was chosen
  script?: Script;
  tools?: FunctionTool[];
  servers?: string[]; // the MCP servers whose tools the model may call, by their addresses
}

export const defaultSettings: Settings = {
  system: "",
  sampling: {},
  stop: [],
  off: [],
  plugins: [],
  format: { kind: "text" },
  trace: false,
};

/** What the host takes at most. */
export const mostInSettings = { stages: 32, plugins: 16, stops: 64, tools: 64, servers: 16 };

/** Takes what is valid of stored or imported settings, which can be of any age and any shape. */
export function cleanSettings(stored: unknown): Settings {
  const raw = record(stored);
  const settings: Settings = {
    system: typeof raw.system === "string" ? raw.system : "",
    sampling: Object.fromEntries(Object.entries(record(raw.sampling)).filter(isParameter)),
    stop: texts(raw.stop).slice(0, mostInSettings.stops),
    off: texts(raw.off),
    plugins: plugins(raw.plugins),
    format: format(raw.format),
    trace: raw.trace === true,
  };
  if (typeof raw.model === "string" && raw.model !== "") settings.model = raw.model;
  const { source, config, on, imported } = record(raw.script);
  if (typeof source === "string")
    settings.script = { source, config: typeof config === "string" ? config : "", on: on === true };
  if (Array.isArray(raw.chain)) settings.chain = texts(raw.chain).slice(0, mostInSettings.stages);
  if (Object.keys(record(raw.templateArgs)).length > 0) settings.templateArgs = record(raw.templateArgs);
  const tools = functionTools(raw.tools);
  if (tools.length > 0) settings.tools = tools;
  const servers = texts(raw.servers).slice(0, mostInSettings.servers);
  if (servers.length > 0) settings.servers = servers;
  return imported === true ? withScriptAsImported(settings) : settings;
}

/**
 * Settings of a file, which anybody may have written: its script runs once a person has it run,
 * and it switches on no server whose tools may do something.
 */
export function asImported({ servers: _, ...settings }: Settings): Settings {
  return withScriptAsImported(settings);
}

function withScriptAsImported(settings: Settings): Settings {
  const { script } = settings;
  if (script === undefined || script.source.trim() === "") return settings;
  return { ...settings, script: { ...script, on: false, imported: true } };
}

/** An object as its fields; none of what is no object. */
export function record(value: unknown): Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value)
    ? (value as Record<string, unknown>)
    : {};
}

/** The different texts of a list, without empty ones. */
function texts(value: unknown): string[] {
  const list = Array.isArray(value) ? value : [];
  return [...new Set(list.filter((text) => typeof text === "string" && text !== ""))];
}

/** Any number passes: what the host takes is the host's to say. */
function isParameter(entry: [string, unknown]): entry is [string, Value] {
  const [name, value] = entry;
  switch (parameterNamed(name)?.kind) {
    case undefined:
      return false; // it would be a field of the request that is no setting, such as messages
    case "switch":
      return typeof value === "boolean";
    case "text":
      return typeof value === "string";
    case "texts":
      return Array.isArray(value) && value.every((text) => typeof text === "string");
    default:
      return Number.isFinite(value);
  }
}

function plugins(value: unknown): PluginChoice[] {
  const named = new Map<string, PluginChoice>();
  for (const entry of Array.isArray(value) ? value : []) {
    const { name, config, on_error } = record(entry);
    if (typeof name !== "string" || name === "") continue;
    const choice: PluginChoice = { name };
    if (config !== undefined) choice.config = record(config);
    if (on_error === "skip") choice.on_error = on_error;
    named.set(name, choice);
  }
  return [...named.values()].slice(0, mostInSettings.plugins);
}

/** What the host takes as the name of a function. */
export const toolName = /^[\w-]{1,64}$/;

function functionTools(value: unknown): FunctionTool[] {
  const named = new Map<string, FunctionTool>();
  for (const entry of Array.isArray(value) ? value : []) {
    const { name, description, parameters, off } = record(entry);
    if (typeof name !== "string" || !toolName.test(name)) continue;
    const tool: FunctionTool = {
      name,
      description: typeof description === "string" ? description : "",
      parameters: record(parameters),
    };
    named.set(name, off === true ? { ...tool, off } : tool);
  }
  return [...named.values()].slice(0, mostInSettings.tools);
}

function format(value: unknown): Format {
  const { kind, text } = record(value);
  if (kind === "json") return { kind };
  if ((kind === "schema" || kind === "grammar" || kind === "regex") && typeof text === "string")
    return { kind, text };
  return { kind: "text" };
}
