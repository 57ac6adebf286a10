// SPDX-License-Identifier: MIT

// The HTTP routes that the page reads: models, plugins and properties of the host.
import { t } from "../language/language.ts";
import type { Abilities } from "../media/medialimits.ts";
import type { HostError } from "./protocol.ts";

/** The host wants an API key, or another one than it got. */
export class KeyNeeded extends Error {}

/** The host still loads its first model; done is from 0 to 1. */
export class Loading extends Error {
  constructor(readonly done: number) {
    super(t("the model is being loaded"));
  }
}

/** The host refused a request; the message is in its words. */
export class Refused extends Error {
  constructor(
    readonly status: number,
    readonly error: HostError,
  ) {
    super(error.message);
  }
}

export interface Model {
  name: string;
  builtIn: boolean; // it is one of the small demonstration models
  state: "loaded" | "loading" | "unloaded";
  failed: string; // why it could not be loaded; empty: it was not tried, or could
  size: number; // bytes; 0: not known
  parameters: number; // 0: not known
  context?: number; // tokens, of one that is loaded
  abilities?: Abilities; // absent: it does not say
}

export interface Plugin {
  name: string;
  summary: string;
  fields: string[]; // of its configuration
  exports: string[]; // which say what it does: penstock_sample, penstock_stop, penstock_template, …
  place: "first" | "last"; // in a chain that does not name it
  view: "candidates" | "logits" | "none"; // of its sample
  schema?: unknown; // of its configuration, a JSON schema
  policies?: Policy[]; // by which the operator attaches it to requests; absent: by none
}

/** How the operator attaches a plugin to requests. */
export interface Policy {
  mode: "required" | "default"; // a request can switch a default one off
  models: string[]; // whose requests; empty: those of all
  routes: string[]; // by which they come; empty: by all
}

/** What a model is served with. What the host does not tell is absent. */
export interface Props {
  model?: string;
  context?: number; // tokens
  abilities?: Abilities;
  bodyLimit?: number; // bytes
  defaults: Readonly<Record<string, unknown>>; // what a request that leaves a sampling parameter out gets
  template: Readonly<Record<string, boolean>>; // what the chat template can, such as supports_tools
  noTemplate?: boolean; // the model has none of its own, and none is configured
}

// The host picks the first of these; the second only carries the key, as a page cannot set a
// header on a WebSocket and a key in the URL would end up in logs.
const subprotocol = "penstock.v1";
const keyPrefix = "penstock.bearer.";

const probeTimeout = 10_000; // milliseconds

/** The REST routes of the host this page came from; all lie below base. */
export class Rest {
  constructor(
    private readonly base: URL,
    private readonly key: () => string,
  ) {}

  /** The models it serves. Throws KeyNeeded, or an Error with the host's words. */
  async models(): Promise<Model[]> {
    const list = listEntries(await this.get("v1/models"), "id");
    return list.map(model);
  }

  /** Plugins that a request may name; none where the host has no such route. */
  async plugins(): Promise<Plugin[]> {
    try {
      return listEntries(await this.get("v1/plugins"), "name")
        .filter((entry) => isFile(entry) && usable(entry))
        .map(readPlugin);
    } catch {
      return []; // 404: no plugins here; and without a list there is nothing to pick
    }
  }

  /** What the host tells of itself and of a model, or of the one that it would use. */
  async props(model?: string): Promise<Props> {
    const query = model === undefined ? "" : `?model=${encodeURIComponent(model)}`;
    return props(await this.get(`props${query}`));
  }

  /**
   * Opens /v1/ws, where a proxy leads to several servers to the replica, unless that is ""; the
   * result is still connecting.
   */
  socket(replica = ""): WebSocket {
    const url = this.address("v1/ws");
    if (replica !== "") url.searchParams.set("replica", replica);
    url.protocol = url.protocol === "https:" ? "wss:" : "ws:";
    const key = this.key();
    return new WebSocket(url, key === "" ? [] : [subprotocol, keyPrefix + base64url(key)]);
  }

  /**
   * Sends a request with a body of JSON, if it has one, and returns what the answer holds;
   * undefined if it holds nothing. Throws KeyNeeded where the page's own key is not enough,
   * Loading, Refused, or an Error if nobody answers.
   */
  async call(path: string, { method = "GET", body, key, signal }: CallOptions = {}): Promise<unknown> {
    const response = await fetch(this.address(path), {
      ...(method !== "GET" && { method }),
      headers: { ...authorization(key ?? this.key()), ...(body !== undefined && json) },
      ...(body !== undefined && { body: JSON.stringify(body) }),
      signal: signal ?? AbortSignal.timeout(probeTimeout),
    }).catch((error) => {
      if (signal?.aborted) throw error;
      throw new Error(noAnswer); // the browser's own words differ and help nobody
    });
    if (response.status === 401 && key === undefined) throw new KeyNeeded();
    const text = await response.text();
    if (!response.ok) throw refusalOf(response.status, text);
    return text === "" ? undefined : parsedJSON(text);
  }

  /** Where a route lies. */
  address(path: string): URL {
    return new URL(path, this.base);
  }

  private get(path: string): Promise<unknown> {
    return this.call(path);
  }
}

export interface CallOptions {
  method?: "GET" | "POST" | "DELETE";
  body?: unknown;
  key?: string; // in place of the page's own
  signal?: AbortSignal; // in place of ten seconds
}

const json = { "Content-Type": "application/json" };

/** What is said where nobody answers. */
export const noAnswer = t("the server does not answer");

/**
 * The JSON of an answer. Throws an Error in words where it is none, as where something else
 * listens at this address.
 */
export function parsedJSON(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new Error(t("what answers here is not Penstock: its answer is not JSON"));
  }
}

/** The header that carries a key. */
export function authorization(key: string): Record<string, string> {
  return key === "" ? {} : { Authorization: `Bearer ${key}` };
}

/** What an answer of this status says of why it is none. */
export function refusalOf(status: number, text: string): Refused | Loading {
  let error: (HostError & { progress?: unknown }) | string | undefined;
  try {
    error = JSON.parse(text)?.error;
  } catch {
    // from a proxy
  }
  if (typeof error === "string") error = { message: error }; // of a route of Ollama's
  if (error?.code === "loading_model") return new Loading(Number(error.progress ?? 0) || 0);
  return new Refused(
    status,
    typeof error?.message === "string"
      ? error
      : { message: t("the server answered {status}", { status: `${status}` }) },
  );
}

// What the host sends has these fields, or is none of ours: then they are undefined.
export type ListEntry = {
  id?: unknown;
  name?: unknown;
  state?: unknown;
  file?: unknown;
  meta?: Record<string, unknown> | null;
  architecture?: { input_modalities?: unknown } | null;
  status?: { value?: unknown; error?: unknown } | null; // absent of the only model
  policies?: unknown;
  exports?: unknown;
  manifest?: {
    summary?: unknown;
    place?: unknown;
    view?: unknown;
    config_schema?: { properties?: object };
  };
};

/** Reads OpenAI's list shape, {"data": [{…}]}, or a bare array, skipping entries without a name. */
export function listEntries(body: unknown, field: "id" | "name"): ListEntry[] {
  const list = Array.isArray(body) ? body : (body as { data?: unknown })?.data;
  if (!Array.isArray(list)) return [];
  return list.filter((entry) => typeof entry?.[field] === "string");
}

function model({ id, meta, status, architecture }: ListEntry): Model {
  const number = (value: unknown) => (typeof value === "number" && value > 0 ? value : 0);
  const state = status?.value ?? "loaded";
  const context = number(meta?.n_ctx);
  const takes = architecture?.input_modalities;
  return {
    name: String(id),
    builtIn: meta?.built_in === true,
    state: state === "loaded" || state === "loading" ? state : "unloaded",
    failed: typeof status?.error === "string" ? status.error : "",
    size: number(meta?.size),
    parameters: number(meta?.n_params),
    ...(context > 0 && state === "loaded" && { context }),
    ...(Array.isArray(takes) && {
      abilities: { sees: takes.includes("image"), hears: takes.includes("audio") },
    }),
  };
}

/**
 * Files that could not be loaded are listed too. A quarantine is for those whose requests made a
 * plugin fault.
 */
function usable(entry: ListEntry): boolean {
  return entry.state !== "failed";
}

/**
 * What the host brings itself is no file of its folder: the plugin that runs scripts, which have a
 * panel of their own here.
 */
export function isFile(entry: ListEntry): boolean {
  return entry.file !== "";
}

export function readPlugin({ name, manifest, exports, policies }: ListEntry): Plugin {
  const view = manifest?.view;
  return {
    name: String(name),
    summary: String(manifest?.summary ?? ""),
    fields: Object.keys(manifest?.config_schema?.properties ?? {}),
    exports: Array.isArray(exports) ? exports.map(String) : [],
    place: manifest?.place === "last" ? "last" : "first",
    view: view === "candidates" || view === "logits" ? view : "none",
    ...(manifest?.config_schema !== undefined && { schema: manifest.config_schema }),
    ...(Array.isArray(policies) && { policies: policies.map(readPolicy) }),
  };
}

function readPolicy(policy: unknown): Policy {
  const { mode, models, routes } = record(policy);
  const texts = (value: unknown) => (Array.isArray(value) ? value.map(String) : []);
  return { mode: mode === "default" ? "default" : "required", models: texts(models), routes: texts(routes) };
}

function props(body: unknown): Props {
  const {
    model_alias: model,
    default_generation_settings: settings,
    chat_template_caps: caps,
    chat_template_fallback: fallback,
    modalities,
    body_limit: bodyLimit,
  } = record(body);
  const { n_ctx: context, params } = record(settings);
  const { vision, audio } = record(modalities);
  return {
    ...(typeof model === "string" && { model }),
    ...(typeof context === "number" && { context }),
    ...(typeof bodyLimit === "number" && { bodyLimit }),
    ...(typeof vision === "boolean" && { abilities: { sees: vision, hears: audio === true } }),
    ...(typeof fallback === "string" && { noTemplate: true }),
    defaults: record(params),
    template: Object.fromEntries(Object.entries(record(caps)).map(([name, can]) => [name, can === true])),
  };
}

/** An object as its fields; none of what is no object. */
export function record(value: unknown): Record<string, unknown> {
  return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : {};
}

/**
 * base64 of the key's UTF-8 with the letters that a subprotocol's name may hold, without padding.
 */
export function base64url(key: string): string {
  const bytes = String.fromCharCode(...new TextEncoder().encode(key));
  return btoa(bytes).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}
