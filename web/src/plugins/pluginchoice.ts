// SPDX-License-Identifier: MIT

// Adds a plugin to the settings of a chat, and takes it out.
import { withStage } from "../settings/addstage.ts";
import { entryOf, type HostChain, withoutStage } from "../settings/chain.ts";
import { mostInSettings, type PluginChoice, type Settings } from "../settings/settings.ts";

/** How settings use a plugin; undefined: they do not, or it is switched off. */
export function choiceOf(settings: Settings, name: string): PluginChoice | undefined {
  if (settings.off.includes(entryOf(name))) return undefined;
  return settings.plugins.find((choice) => choice.name === name);
}

/**
 * The settings with a plugin and its configuration. Where it has a place in the chain it keeps it.
 */
export function withPlugin(
  settings: Settings,
  name: string,
  config: Record<string, unknown>,
  host: HostChain,
): Settings {
  const present = settings.plugins.some((choice) => choice.name === name);
  const added = present ? settings : withStage(settings, entryOf(name), host);
  return {
    ...added,
    off: added.off.filter((entry) => entry !== entryOf(name)),
    plugins: added.plugins.map((choice) => (choice.name === name ? configured(choice, config) : choice)),
  };
}

function configured({ config: _, ...choice }: PluginChoice, config: Record<string, unknown>): PluginChoice {
  return Object.keys(config).length > 0 ? { ...choice, config } : choice;
}

/** The settings without a plugin. */
export function withoutPlugin(settings: Settings, name: string, host: HostChain): Settings {
  return withoutStage(settings, entryOf(name), host);
}

/** Whether settings have room for one more plugin. */
export function hasRoom(settings: Settings): boolean {
  return settings.plugins.length < mostInSettings.plugins;
}
