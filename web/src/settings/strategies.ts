// SPDX-License-Identifier: MIT

// Strategies: how an answer is written, token by token or by a program, once or side by side.
import type { Plugin } from "../host/rest.ts";
import { t } from "../language/language.ts";
import type { NamedScript } from "../scripts/namedscripts.ts";
import { entryOf, rolesOf } from "./chain.ts";
import type { Column, PluginChoice, Script, Settings } from "./settings.ts";

const mostAtHand = 4;
const asked = ["beam", "best-of", "guidance", "cot"]; // the programs that people ask for come first

/** A strategy that is one press away. Normal has neither a program nor a script. */
export interface Strategy {
  title: string;
  program?: string;
  script?: NamedScript;
}

/**
 * The strategies that stand beside the message field: normal, two of a person's scripts, and
 * programs that need not be told anything first.
 */
export function strategiesAtHand(
  settings: Settings,
  plugins: readonly Plugin[],
  scripts: readonly NamedScript[],
): Strategy[] {
  return readyStrategies(settings, plugins, scripts.slice(0, 2)).slice(0, mostAtHand);
}

/** All strategies that need not be told anything first. */
export function readyStrategies(
  { plugins: choices }: Settings,
  plugins: readonly Plugin[],
  scripts: readonly NamedScript[],
): Strategy[] {
  const rank = ({ name }: Plugin) => (asked.includes(name) ? asked.indexOf(name) : asked.length);
  const programs = programsOf(plugins)
    .filter(({ schema }) => !requires(schema as Requirements | undefined))
    .sort((a, b) => rank(a) - rank(b))
    .map((plugin): Strategy => {
      const { name } = plugin;
      const config = choices.find((choice) => choice.name === name)?.config;
      return { title: strategyTitle(plugin, config), program: name };
    });
  const own = scripts.map((script): Strategy => ({ title: script.name, script }));
  return [{ title: t("Normal") }, ...own, ...programs];
}

type Requirements = { required?: unknown[]; anyOf?: unknown; oneOf?: unknown };

/**
 * Whether a schema may want to be told something. The whole check would make the first load large.
 */
function requires({ required = [], anyOf, oneOf }: Requirements = {}): boolean {
  return required.length > 0 || anyOf !== undefined || oneOf !== undefined;
}

/** Whether a strategy writes the next answer. */
export function writes(
  { program, script }: Strategy,
  settings: Settings,
  plugins: readonly Plugin[],
): boolean {
  if ((settings.columns ?? []).length > 1) return false;
  const named = settings.script?.on ? settings.script.name : undefined;
  const running = programsIn(settings, plugins).at(-1);
  return running === program && (running !== undefined || named === script?.name);
}

/** The settings with a strategy that is at hand. */
export function withAtHand(
  settings: Settings,
  { program, script }: Strategy,
  plugins: readonly Plugin[],
): Settings {
  if (script !== undefined) return withNamedScript(settings, script, plugins);
  return withStrategy(settings, program, plugins);
}

/** What a person calls a program whose name says too little. */
const titles: Readonly<Record<string, string>> = {
  cot: t("Chain of thought"),
  smc: t("Monte Carlo"),
  heal: t("Token healing"),
  consensus: t("Vote"),
  lookahead: t("Look-ahead"),
};

/** The plugins that write a whole answer themselves. A request can have one of them. */
export function programsOf(plugins: readonly Plugin[]): Plugin[] {
  return plugins.filter((plugin) => rolesOf(plugin).program);
}

/** The programs that settings have switched on. The last of them counts. */
export function programsIn(settings: Settings, plugins: readonly Plugin[]): string[] {
  const programs = new Set(programsOf(plugins).map(({ name }) => name));
  return settings.plugins
    .map(({ name }) => name)
    .filter((name) => programs.has(name) && !settings.off.includes(entryOf(name)));
}

/** A program as people read of it: "Best of 4". */
export function strategyTitle({ name, schema }: Plugin, config: PluginChoice["config"] = {}): string {
  if (name !== "best-of")
    return titles[name] ?? name.charAt(0).toUpperCase() + name.slice(1).replaceAll("-", " ");
  const fields = (schema as { properties?: { n?: { default?: unknown } } } | undefined)?.properties;
  const n = config.n ?? fields?.n?.default;
  return n === undefined ? t("Best of several") : t("Best of {n}", { n: String(n) });
}

/** How the next answer is written, in a word or two. */
export function strategyWords(settings: Settings, plugins: readonly Plugin[]): string {
  const { columns = [] } = settings;
  if (columns.length > 1) return t("{n} side by side", { n: columns.length });
  const name = programsIn(settings, plugins).at(-1);
  const plugin = plugins.find((offered) => offered.name === name);
  if (plugin === undefined) return (settings.script?.on && settings.script.name) || t("Normal");
  return strategyTitle(plugin, settings.plugins.find((choice) => choice.name === name)?.config);
}

/**
 * The settings with this program and no other, or with none. The others keep their configurations,
 * and a script that is a strategy is switched off.
 * ready: it has all that it requires; else it stays off until it has.
 */
export function withStrategy(
  settings: Settings,
  name: string | undefined,
  plugins: readonly Plugin[],
  ready = true,
): Settings {
  const { columns: _, ...rest } = settings;
  if (rest.script?.name !== undefined) rest.script = { ...rest.script, on: false };
  const programs = programsOf(plugins).map((program) => entryOf(program.name));
  const off = settings.off.filter((entry) => !programs.includes(entry));
  const known = settings.plugins.some((choice) => choice.name === name);
  const choices = known || name === undefined ? settings.plugins : [...settings.plugins, { name }];
  const stays = choices.map((choice) => entryOf(choice.name)).filter((entry) => programs.includes(entry));
  const idle = stays.filter((entry) => !ready || name === undefined || entry !== entryOf(name));
  return { ...rest, plugins: choices, off: [...off, ...idle] };
}

/** The settings without the program or the script that is their strategy. */
export function withoutStrategy(settings: Settings, plugins: readonly Plugin[]): Settings {
  const programs = programsIn(settings, plugins);
  const { script, ...rest } = settings;
  return {
    ...rest,
    plugins: settings.plugins.filter(({ name }) => !programs.includes(name)),
    ...(script !== undefined && script.name === undefined && { script }),
  };
}

/** The settings with a script that has a name as the strategy, and no program. */
export function withNamedScript(
  settings: Settings,
  { name, source, config }: Omit<Script, "on">,
  plugins: readonly Plugin[],
): Settings {
  const script = { ...(name !== undefined && { name }), source, config, on: true };
  return { ...withStrategy(settings, undefined, plugins), script };
}

/** The settings with which the answer of a column is written. */
export function columnSettings(settings: Settings, { model, temperature, plugin }: Column): Settings {
  const { columns: _, ...rest } = settings;
  const changed: Settings = { ...rest };
  if (model !== undefined) changed.model = model;
  if (temperature !== undefined) changed.sampling = { ...settings.sampling, temperature };
  if (plugin !== undefined) {
    const choice = settings.plugins.find(({ name }) => name === plugin) ?? { name: plugin };
    const others = settings.plugins.filter(({ name }) => name !== plugin);
    changed.plugins = [...others, choice]; // of several programs the last counts
    changed.off = settings.off.filter((entry) => entry !== entryOf(plugin));
  }
  return changed;
}

const unchanged = "as this chat is set"; // untranslated: kept with answers

/** What a column is called, as it is kept with its answer, whatever the reader's language is. */
export function columnTitle({ model, temperature, plugin }: Column): string {
  const words = [
    model,
    temperature === undefined ? undefined : `temperature ${temperature}`,
    plugin === undefined ? undefined : `with ${plugin}`,
  ].filter((word) => word !== undefined);
  return words.length > 0 ? words.join(" · ") : unchanged;
}

/** The title that is kept of a column, in the reader's language. */
export function columnWords(title: string): string {
  if (title === unchanged) return t("as this chat is set");
  return title
    .split(" · ")
    .map((part) => {
      const [, kind, value = ""] = /^(temperature|with) (.+)$/.exec(part) ?? [];
      if (kind === "temperature") return t("temperature {value}", { value });
      return kind === "with" ? t("with {plugin}", { plugin: value }) : part;
    })
    .join(" · ");
}
