// SPDX-License-Identifier: MIT

// Settings for another answer to the same question, to compare it with.
import { t } from "../language/language.ts";
import type { Settings } from "../settings/settings.ts";

/** Another way to the same answer, to compare it with. */
export interface Variation {
  label: string;
  settings: Settings;
}

/** The settings with which an answer is written again as it was, for the inspector to look into. */
export function tracedAgain(settings: Settings, seed: number | undefined): Settings {
  const sampling = seed === undefined ? settings.sampling : { ...settings.sampling, seed };
  return { ...settings, sampling, trace: true };
}

/**
 * What could be changed in a chat's settings to see what it does, everything else being the same.
 */
export function variations(settings: Settings, seed: number | undefined): Variation[] {
  const base = tracedAgain(settings, seed);
  const without = base.plugins.map(({ name }) => ({
    label: t("without plugin {name}", { name }),
    settings: { ...base, plugins: base.plugins.filter((plugin) => plugin.name !== name) },
  }));
  const all = [
    { label: t("with the chat’s present settings"), settings: base },
    ...without,
    {
      label: t("always the most likely token (temperature {n})", { n: 0 }),
      settings: { ...base, sampling: { ...base.sampling, temperature: 0 } },
    },
    {
      label: t("livelier (temperature {n})", { n: 1.5 }),
      settings: { ...base, sampling: { ...base.sampling, temperature: 1.5 } },
    },
    { label: t("without any stage that cuts candidates"), settings: { ...base, chain: pluginsOf(base) } },
  ];
  return all.filter(({ settings: s }, i) => i === 0 || JSON.stringify(s) !== JSON.stringify(base));
}

function pluginsOf({ chain, plugins }: Settings): string[] {
  return chain?.filter((stage) => stage.startsWith("plugin:")) ?? plugins.map(({ name }) => `plugin:${name}`);
}
