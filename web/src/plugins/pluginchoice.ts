// SPDX-License-Identifier: MIT

// Adds a plugin to the settings of a chat, and takes it out.
import type { Plugin } from "../host/rest.ts";
import { t } from "../language/language.ts";
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

/** Whether the host uses a plugin unless a request switches it off. */
export function isDefault({ policies = [] }: Pick<Plugin, "policies">): boolean {
  return policies.length > 0 && policies.every(({ mode }) => mode === "default");
}

/** What the host's operator has set for a plugin, a sentence for each policy. */
export function policyTexts({ policies = [] }: Pick<Plugin, "policies">): string[] {
  return policies.map(({ mode, models, routes }) => {
    const requests = requestWords(models.join(", "), routes.join(", "));
    return mode === "required"
      ? t("This server requires it in {requests}; its operator has set it up.", { requests })
      : t("This server uses it in {requests} unless it is switched off or configured here.", { requests });
  });
}

/** Requests to models and by routes; empty: to all and by all. */
function requestWords(models: string, routes: string): string {
  if (models === "" && routes === "") return t("requests");
  if (routes === "") return t("requests to {models}", { models });
  return models === ""
    ? t("requests by {routes}", { routes })
    : t("requests to {models} by {routes}", { models, routes });
}

/** Whether settings have room for one more plugin. */
export function hasRoom(settings: Settings): boolean {
  return settings.plugins.length < mostInSettings.plugins;
}
