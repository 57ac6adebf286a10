// SPDX-License-Identifier: MIT

// The sampler chain: which stages it has, in which order, and which are on.
import type { Plugin } from "../host/rest.ts";
import { t } from "../language/language.ts";
import { nativeNamed, nativeStages } from "./nativestages.ts";
import { mostInSettings, type Settings } from "./settings.ts";

const prefix = "plugin:";

/** How a chain names a plugin. */
export function entryOf(plugin: string): string {
  return prefix + plugin;
}

/** The plugin that an entry of a chain names; undefined for a native stage. */
export function pluginOf(entry: string): string | undefined {
  return entry.startsWith(prefix) ? entry.slice(prefix.length) : undefined;
}

/** What a plugin does: by its exports, as the host sees it. */
export function rolesOf({ exports }: Pick<Plugin, "exports">): {
  stage: boolean;
  stop: boolean;
  template: boolean;
  program: boolean;
} {
  const has = (name: string) => exports.includes(`penstock_${name}`);
  return {
    stage: has("prepare") || has("sample") || has("accept"),
    stop: has("stop"),
    template: has("template"),
    program: has("run"),
  };
}

/** What the host says of its chain and its plugins. */
export interface HostChain {
  samplers: readonly string[]; // the default chain
  plugins: readonly Plugin[];
}

/**
 * The stages that the page shows, in order: the chain with the plugins that it does not name at
 * their places.
 */
export function stagesOf({ chain, plugins }: Settings, host: HostChain): string[] {
  const named = chain ?? [...host.samplers];
  const chosen = plugins.map((choice) => host.plugins.find(({ name }) => name === choice.name));
  const missing = chosen.filter(
    (plugin) => plugin !== undefined && rolesOf(plugin).stage && !named.includes(entryOf(plugin.name)),
  );
  const at = (place: Plugin["place"]) =>
    missing.flatMap((plugin) => (plugin?.place === place ? [entryOf(plugin.name)] : []));
  return [...at("first"), ...named, ...at("last")];
}

/** The stages with one moved to another place. */
export function withStageMoved(stages: readonly string[], from: number, to: number): string[] {
  const rest = stages.filter((_, at) => at !== from);
  const stage = stages[from];
  return stage === undefined ? [...stages] : [...rest.slice(0, to), stage, ...rest.slice(to)];
}

/** The settings without a stage. A plugin goes with its configuration. */
export function withoutStage(settings: Settings, stage: string, host: HostChain): Settings {
  const plugin = pluginOf(stage);
  const off = settings.off.filter((name) => name !== stage);
  const plugins = settings.plugins.filter(({ name }) => name !== plugin);
  const left = { ...settings, off, plugins };
  if (settings.chain === undefined && plugin !== undefined) return left;
  return { ...left, chain: stagesOf(settings, host).filter((name) => name !== stage) };
}

/** The settings with a stage or a plugin switched on or off. It keeps its place. */
export function withStageSwitched(settings: Settings, stage: string, on: boolean, host: HostChain): Settings {
  const off = settings.off.filter((name) => name !== stage);
  const native = pluginOf(stage) === undefined;
  const chain = native && !on ? { chain: stagesOf(settings, host) } : {}; // without a chain the host's own counts
  return { ...settings, ...chain, off: on ? off : [...off, stage] };
}

/** The stages that can still be added. */
export function addable(settings: Settings, host: HostChain): { natives: string[]; plugins: Plugin[] } {
  const present = new Set(stagesOf(settings, host));
  const room = settings.plugins.length < mostInSettings.plugins;
  return {
    natives: nativeStages.map(({ name }) => name).filter((name) => !present.has(name)),
    plugins: host.plugins.filter(
      (plugin) => room && rolesOf(plugin).stage && !present.has(entryOf(plugin.name)),
    ),
  };
}

/**
 * What is wrong with the place of a plugin: one that sees all logits must stand before what drops
 * some.
 */
export function misplaced(
  stages: readonly string[],
  off: readonly string[],
  stage: string,
  host: HostChain,
): string {
  const of = (entry: string) => host.plugins.find(({ name }) => name === pluginOf(entry));
  if (of(stage)?.view !== "logits") return "";
  const before = stages.slice(0, stages.indexOf(stage)).filter((entry) => !off.includes(entry));
  const narrowing = before.find((entry) => narrows.has(entry) || of(entry)?.view === "candidates");
  if (narrowing === undefined) return "";
  const name = pluginOf(narrowing) ?? nativeNamed(narrowing)?.label ?? narrowing;
  return t("It sees the whole vocabulary, so it must stand before {stage}, which drops tokens.", {
    stage: name,
  });
}

const narrows = new Set(["top_n_sigma", "top_k", "typ_p", "top_p", "min_p", "xtc", "infill"]);

/** The host's default chain: as it tells it, or llama.cpp's where it does not. */
export function hostChain(
  defaults: Readonly<Record<string, unknown>>,
  plugins: readonly Plugin[],
): HostChain {
  const { samplers } = defaults;
  const told = Array.isArray(samplers) ? samplers.filter((name) => typeof name === "string") : [];
  return { samplers: told.length > 0 ? told : usual, plugins };
}

const usual = nativeStages
  .map(({ name }) => name)
  .filter((name) => name !== "adaptive_p" && name !== "infill");
