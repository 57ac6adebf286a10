// SPDX-License-Identifier: MIT

// The settings of a chat, their defaults, and how stored ones are made valid.
import { isDeeper, isRecord } from "../text/parsedjson.ts";
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
  name?: string; // as a strategy; none: it is this chat's alone
  source: string; // JavaScript
  config: string; // JSON as it was typed, which may be none; empty: the script gets no configuration
  on: boolean; // the chat's requests have it
  imported?: true; // it came in a file, and nobody has said yet that it may run
}

/** What answers have to obey, as a person wrote it, and what the page made of that. */
export interface Rule {
  text: string; // "never say frog"
  on: boolean;
  source?: string; // a script that sees to it
  config?: Record<string, unknown>; // of the script
  format?: Format; // or what the answers are bound to
}

/** One of several answers to a question, which stand side by side. What is absent is the chat's. */
export interface Column {
  model?: string;
  temperature?: number;
  plugin?: string;
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
  rules?: Rule[];
  columns?: Column[]; // each question gets an answer of each; fewer than two: it gets one
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

/** How many of each a chat has at most. Of stages, plugins and stops the host takes no more. */
export const mostInSettings = {
  stages: 32,
  plugins: 16,
  stops: 64,
  tools: 64,
  servers: 16,
  rules: 8,
  columns: 4,
};

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
  const { name, source, config, on, imported } = record(raw.script);
  if (typeof source === "string") {
    settings.script = { source, config: typeof config === "string" ? config : "", on: on === true };
    if (typeof name === "string" && name !== "") settings.script.name = name;
  }
  if (Array.isArray(raw.chain)) settings.chain = texts(raw.chain).slice(0, mostInSettings.stages);
  const templateArgs = keptRecord(raw.templateArgs);
  if (Object.keys(templateArgs).length > 0) settings.templateArgs = templateArgs;
  const tools = functionTools(raw.tools);
  if (tools.length > 0) settings.tools = tools;
  const servers = texts(raw.servers).slice(0, mostInSettings.servers);
  if (servers.length > 0) settings.servers = servers;
  const rules = each(raw.rules, rule).slice(0, mostInSettings.rules);
  if (rules.length > 0) settings.rules = rules;
  const columns = each(raw.columns, column).slice(0, mostInSettings.columns);
  if (columns.length > 0) settings.columns = columns;
  if (imported === true && settings.script !== undefined) settings.script = heldScript(settings.script);
  return settings;
}

/**
 * Settings of a file, which anybody may have written: its script runs once a person has it run, a
 * rule that is a script is off until it is switched on, and no server is whose tools may do
 * something.
 */
export function asImported({ servers: _, ...settings }: Settings): Settings {
  const { script, rules } = settings;
  const safe = { ...settings };
  if (rules !== undefined)
    safe.rules = rules.map((one) => (one.source === undefined ? one : { ...one, on: false }));
  if (script !== undefined) safe.script = heldScript(script);
  return safe;
}

/**
 * Settings for a file that others may read: without the addresses of servers, which may have a key
 * in them, and which no import takes over.
 */
export function asExported({ servers: _, ...settings }: Settings): Settings {
  return settings;
}

function heldScript(script: Script): Script {
  return script.source.trim() === "" ? script : { ...script, on: false, imported: true };
}

/** An object as its fields; none of what is no object. */
export function record(value: unknown): Record<string, unknown> {
  return isRecord(value) ? value : {};
}

const deepest = 100; // levels; of many more no browser can make a text again

/** An object that is kept as it is; none of what is no object, or too deep to be written again. */
export function keptRecord(value: unknown): Record<string, unknown> {
  return isDeeper(value, deepest) ? {} : record(value);
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
    if (config !== undefined) choice.config = keptRecord(config);
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
      parameters: keptRecord(parameters),
    };
    named.set(name, off === true ? { ...tool, off } : tool);
  }
  return [...named.values()].slice(0, mostInSettings.tools);
}

function rule(value: unknown): Rule | undefined {
  const { text, on, source, config, format: bound } = record(value);
  if (typeof text !== "string" || text.trim() === "") return undefined;
  const clean: Rule = { text, on: on === true };
  if (typeof source === "string" && source.trim() !== "")
    return { ...clean, source, ...(config !== undefined && { config: keptRecord(config) }) };
  const { kind } = format(bound);
  return kind === "text" ? undefined : { ...clean, format: format(bound) };
}

function column(value: unknown): Column {
  const { model, temperature, plugin } = record(value);
  const clean: Column = {};
  if (typeof model === "string" && model !== "") clean.model = model;
  if (typeof temperature === "number" && Number.isFinite(temperature)) clean.temperature = temperature;
  if (typeof plugin === "string" && plugin !== "") clean.plugin = plugin;
  return clean;
}

function each<T>(value: unknown, clean: (entry: unknown) => T | undefined): T[] {
  return Array.isArray(value) ? value.map(clean).filter((entry) => entry !== undefined) : [];
}

function format(value: unknown): Format {
  const { kind, text } = record(value);
  if (kind === "json") return { kind };
  if ((kind === "schema" || kind === "grammar" || kind === "regex") && typeof text === "string")
    return { kind, text };
  return { kind: "text" };
}
