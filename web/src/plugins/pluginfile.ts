// SPDX-License-Identifier: MIT

// A file of the plugin folder, as the host describes it.
import { type ListEntry, type Plugin, readPlugin } from "../host/rest.ts";
import { t, tn } from "../language/language.ts";
import { tenths } from "../text/numberformat.ts";
import { isRecord } from "../text/parsedjson.ts";

/** A file of the plugin folder, with all that the host tells of it. */
export interface PluginFile extends Plugin {
  state: "ready" | "quarantined" | "failed";
  version: string;
  by: string; // author and licence, where the manifest has them
  file: string;
  bundled: boolean; // the server comes with it: it cannot be removed
  size: number; // bytes
  sha256: string; // hexadecimal; empty for one that could not be loaded
  error: string; // why the file as it is now could not be loaded
  modelErrors: ModelError[]; // the loaded models that it cannot be used with
  always: boolean; // every request uses it
  faults: number;
  lastFault: string;
  faultedAt: string; // when the last one was, RFC 3339
  candidates: number; // that its sample gets at most
  hold: number; // tokens that it may take back, by which its answers are late
  takeBack: number; // tokens that it may compute in vain besides
  branches: number; // that a program has at once
}

/** Why a plugin cannot be used with a model. */
export interface ModelError {
  model: string;
  error: string;
}

/** Reads one entry of GET /v1/plugins. */
export function pluginFile(entry: ListEntry): PluginFile {
  const raw: Record<string, unknown> = entry;
  const manifest: Record<string, unknown> = isRecord(raw.manifest) ? raw.manifest : {};
  const state = raw.state === "failed" || raw.state === "quarantined" ? raw.state : "ready";
  return {
    ...readPlugin(entry),
    state,
    version: text(manifest.version),
    by: [text(manifest.author), text(manifest.license) || text(manifest.licence)].filter(Boolean).join(", "),
    file: text(raw.file),
    bundled: raw.bundled === true,
    size: count(raw.size),
    sha256: text(raw.sha256),
    error: text(raw.error),
    modelErrors: modelErrors(raw.model_errors),
    always: raw.default === true,
    faults: count(raw.faults),
    lastFault: text(raw.last_fault),
    faultedAt: text(raw.last_fault_at),
    candidates: count(manifest.candidates),
    hold: count(manifest.hold),
    takeBack: count(manifest.take_back),
    branches: count(manifest.branches),
  };
}

function modelErrors(value: unknown): ModelError[] {
  if (!Array.isArray(value)) return [];
  return value.filter(isRecord).map(({ model, error }) => ({ model: text(model), error: text(error) }));
}

function text(value: unknown): string {
  return typeof value === "string" ? value : "";
}

function count(value: unknown): number {
  return typeof value === "number" && value > 0 ? value : 0;
}

/** A place in a request where a plugin takes part. */
export interface PluginKind {
  name: string;
  title: string; // what it does there
}

const kinds: Record<string, PluginKind> = {
  penstock_messages: {
    name: t("Messages"),
    title: t("It rewrites the conversation before the prompt is made of it."),
  },
  penstock_template: { name: t("Template"), title: t("It turns the conversation into the prompt.") },
  penstock_prepare: {
    name: t("Constraint"),
    title: t("It allows, bans or weighs tokens before each choice."),
  },
  penstock_sample: { name: t("Sampler"), title: t("It changes the candidates or chooses the token.") },
  penstock_accept: {
    name: t("Token watcher"),
    title: t("It sees each token, and may replace it or end the answer."),
  },
  penstock_run: {
    name: t("Program"),
    title: t("It writes the whole answer, from several continuations at once."),
  },
  penstock_draft: { name: t("Guesses"), title: t("It guesses the next tokens, which makes answers faster.") },
  penstock_stop: {
    name: t("kind of plugin|Stop"),
    title: t("It reads the new text, and may hold it back or end the answer."),
  },
  penstock_filter: { name: t("Filter"), title: t("It rewrites the text before it is shown.") },
};

/** Where a plugin takes part, in the order of a request. */
export function kindsOf({ exports }: Pick<Plugin, "exports">): PluginKind[] {
  return Object.entries(kinds).flatMap(([name, kind]) => (exports.includes(name) ? [kind] : []));
}

/** What is to be known before a plugin is used, besides what it does. */
export function limitsOf(
  plugin: Pick<PluginFile, "view" | "candidates" | "hold" | "takeBack" | "branches">,
): string[] {
  const parts = [];
  if (plugin.view === "logits") parts.push(t("sees the whole vocabulary"));
  if (plugin.view === "candidates" && plugin.candidates > 0)
    parts.push(tn(plugin.candidates, "sees the likeliest token", "sees the {n} likeliest tokens"));
  if (plugin.hold > 0)
    parts.push(
      tn(
        plugin.hold,
        "may take back {n} token, so text comes that much later",
        "may take back {n} tokens, so text comes that much later",
      ),
    );
  if (plugin.takeBack > 0)
    parts.push(
      tn(
        plugin.takeBack,
        "may compute {n} more token than it keeps",
        "may compute {n} more tokens than it keeps",
      ),
    );
  if (plugin.branches > 1) parts.push(t("writes up to {n} continuations at once", { n: plugin.branches }));
  return parts;
}

/** A size as people say it. */
export function sizeWords(bytes: number): string {
  if (bytes < 1000) return tn(bytes, "{n} byte", "{n} bytes");
  const kilo = bytes / 1000;
  return kilo < 1000 ? `${Math.round(kilo)} kB` : `${tenths(kilo / 1000)} MB`;
}

/** What can be done about a file that could not be loaded. The host's reason says what is wrong. */
export function fileRemedy(error: string): string {
  if (/not a WebAssembly module/.test(error)) return t("Replace it with a built module, or remove the file.");
  if (/is that of/.test(error)) return t("Give one of them another name, or remove one of the files.");
  if (/not a plugin of ABI v1/.test(error))
    return t("Build it with an SDK: docs/plugins/go.md or docs/plugins/rust.md.");
  return t("Mend the module and copy it over this file: the server loads it by itself.");
}
