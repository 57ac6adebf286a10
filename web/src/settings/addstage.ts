// SPDX-License-Identifier: MIT

// Adds a stage to the sampler chain, and configures its plugin.
import { problemsOf } from "../plugins/schemacheck.ts";
import { entryOf, type HostChain, pluginOf, stagesOf, withStageSwitched } from "./chain.ts";
import type { PluginChoice, Settings } from "./settings.ts";

/**
 * The settings with a stage added: a native one before the temperature, a plugin where its
 * manifest says.
 */
export function withStage(settings: Settings, stage: string, host: HostChain): Settings {
  const plugin = pluginOf(stage);
  const off = settings.off.filter((name) => name !== stage);
  if (plugin !== undefined) {
    const plugins = [...settings.plugins.filter(({ name }) => name !== plugin), { name: plugin }];
    const added = { ...settings, off: needsConfig(plugin, {}, host) ? [...off, stage] : off, plugins };
    return settings.chain === undefined ? added : { ...added, chain: stagesOf(added, host) };
  }
  const stages = stagesOf(settings, host);
  const temperature = stages.indexOf("temperature");
  const place = temperature < 0 || stage === "adaptive_p" ? stages.length : temperature;
  return { ...settings, off, chain: [...stages.slice(0, place), stage, ...stages.slice(place)] };
}

/** Whether a plugin cannot work with a configuration: it has to be told more first. */
export function needsConfig(plugin: string, config: unknown, host: HostChain): boolean {
  const schema = host.plugins.find(({ name }) => name === plugin)?.schema;
  return problemsOf(schema ?? {}, config).length > 0;
}

/**
 * The settings with a plugin told otherwise. It is on once it has all that it requires, and off
 * while it lacks some: the server would refuse the next question.
 */
export function withPluginConfig(settings: Settings, choice: PluginChoice, host: HostChain): Settings {
  const before = settings.plugins.find(({ name }) => name === choice.name);
  const plugins =
    before === undefined
      ? [...settings.plugins, choice]
      : settings.plugins.map((chosen) => (chosen === before ? choice : chosen));
  const lacked = needsConfig(choice.name, before?.config ?? {}, host);
  const lacks = needsConfig(choice.name, choice.config ?? {}, host);
  const changed = { ...settings, plugins };
  return lacked === lacks ? changed : withStageSwitched(changed, entryOf(choice.name), !lacks, host);
}
