// SPDX-License-Identifier: MIT

/** The host wants an API key, or another one than it got. */
export class KeyNeeded extends Error {}

export interface Model {
  name: string;
  builtIn: boolean; // it is the small demonstration model
}

export interface Plugin {
  name: string;
  summary: string;
  fields: string[]; // of its configuration
  exports: string[]; // which say what it does: penstock_sample, penstock_stop, penstock_template, …
  place: "first" | "last"; // in a chain that does not name it
  view: "candidates" | "logits" | "none"; // of its sample
  schema?: unknown; // of its configuration, a JSON schema
}

/** What a model is served with. What the host does not tell is absent. */
export interface Props {
  model?: string;
  context?: number; // tokens
  defaults: Readonly<Record<string, unknown>>; // what a request that leaves a sampling parameter out gets
  template: Readonly<Record<string, boolean>>; // what the chat template can, such as supports_tools
}

// The host picks the first of these; the second only carries the key, as a page cannot set a header on a
// WebSocket and a key in the URL would end up in logs.
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
    const list = entries(await this.get("v1/models"), "id");
    return list.map(({ id, meta }) => ({ name: String(id), builtIn: meta?.built_in === true }));
  }

  /** Plugins that a request may name; none where the host has no such route. */
  async plugins(): Promise<Plugin[]> {
    try {
      return entries(await this.get("v1/plugins"), "name")
        .filter(usable)
        .map(plugin);
    } catch {
      return []; // 404: no plugins here; and without a list there is nothing to pick
    }
  }

  /** What the host tells of itself and of a model, or of the one that it would use. */
  async props(model?: string): Promise<Props> {
    const query = model === undefined ? "" : `?model=${encodeURIComponent(model)}`;
    return props(await this.get(`props${query}`));
  }

  /** Opens /v1/ws; the result is still connecting. */
  socket(): WebSocket {
    const url = new URL("v1/ws", this.base);
    url.protocol = url.protocol === "https:" ? "wss:" : "ws:";
    const key = this.key();
    return new WebSocket(url, key === "" ? [] : [subprotocol, keyPrefix + base64url(key)]);
  }

  private async get(path: string): Promise<unknown> {
    const key = this.key();
    const response = await fetch(new URL(path, this.base), {
      headers: key === "" ? {} : { Authorization: `Bearer ${key}` },
      signal: AbortSignal.timeout(probeTimeout),
    }).catch(() => {
      throw new Error("the server does not answer"); // the browser's own words differ and help nobody
    });
    if (response.status === 401) throw new KeyNeeded();
    if (!response.ok) throw new Error(await complaint(response));
    return response.json();
  }
}

async function complaint(response: Response): Promise<string> {
  const body = await response.json().catch(() => undefined);
  return body?.error?.message ?? `the server answered ${response.status}`;
}

// What the host sends has these fields, or is none of ours: then they are undefined.
type Entry = {
  id?: unknown;
  name?: unknown;
  state?: unknown;
  meta?: { built_in?: unknown } | null;
  exports?: unknown;
  manifest?: {
    summary?: unknown;
    place?: unknown;
    view?: unknown;
    config_schema?: { properties?: object };
  };
};

/** Reads OpenAI's list shape, {"data": [{…}]}, or a bare array, skipping entries without a name. */
function entries(body: unknown, field: "id" | "name"): Entry[] {
  const list = Array.isArray(body) ? body : (body as { data?: unknown })?.data;
  if (!Array.isArray(list)) return [];
  return list.filter((entry) => typeof entry?.[field] === "string");
}

/** Files that could not be loaded are listed too. A quarantine is for those whose requests made a plugin fault. */
function usable(entry: Entry): boolean {
  return entry.state !== "failed";
}

function plugin({ name, manifest, exports }: Entry): Plugin {
  const view = manifest?.view;
  return {
    name: String(name),
    summary: String(manifest?.summary ?? ""),
    fields: Object.keys(manifest?.config_schema?.properties ?? {}),
    exports: Array.isArray(exports) ? exports.map(String) : [],
    place: manifest?.place === "last" ? "last" : "first",
    view: view === "candidates" || view === "logits" ? view : "none",
    ...(manifest?.config_schema !== undefined && { schema: manifest.config_schema }),
  };
}

function props(body: unknown): Props {
  const {
    model_alias: model,
    default_generation_settings: settings,
    chat_template_caps: caps,
  } = record(body);
  const { n_ctx: context, params } = record(settings);
  return {
    ...(typeof model === "string" && { model }),
    ...(typeof context === "number" && { context }),
    defaults: record(params),
    template: Object.fromEntries(Object.entries(record(caps)).map(([name, can]) => [name, can === true])),
  };
}

function record(value: unknown): Record<string, unknown> {
  return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : {};
}

/** base64 of the key's UTF-8 with the letters that a subprotocol's name may hold, without padding. */
export function base64url(key: string): string {
  const bytes = String.fromCharCode(...new TextEncoder().encode(key));
  return btoa(bytes).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}
