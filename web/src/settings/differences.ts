// SPDX-License-Identifier: MIT

// Which settings of a chat differ from the server's.
import { t, tn } from "../language/language.ts";
import { answerFormats } from "./answerformat.ts";
import { pluginOf } from "./chain.ts";
import { parameterNamed, valueWords } from "./parameters.ts";
import type { Settings } from "./settings.ts";

/**
 * What of the settings of a chat is not as the server has it by itself, a few words each. The
 * model is shown elsewhere.
 */
export function differences({
  system,
  sampling,
  stop,
  chain,
  off,
  plugins,
  format,
  templateArgs,
  trace,
  script,
  tools = [],
  servers = [],
}: Settings): string[] {
  const words: string[] = [];
  if (system.trim() !== "") words.push(t("Instructions"));
  if (format.kind !== "text")
    words.push(answerFormats.find(({ kind }) => kind === format.kind)?.label ?? format.kind);
  for (const { name } of plugins) if (!off.includes(`plugin:${name}`)) words.push(name);
  if (script?.on) words.push(t("Script"));
  if (servers.length > 0 || tools.some((tool) => !tool.off)) words.push(t("Tools"));
  for (const [name, value] of Object.entries(sampling)) {
    const parameter = parameterNamed(name);
    if (parameter !== undefined) words.push(`${parameter.label} ${valueWords(parameter, value)}`.trim());
  }
  if (stop.length > 0) words.push(tn(stop.length, "{n} stop string", "{n} stop strings"));
  if (chain !== undefined || off.some((stage) => pluginOf(stage) === undefined))
    words.push(t("Sampler chain"));
  if (templateArgs !== undefined) words.push(t("Template arguments"));
  if (trace) words.push(t("Token record"));
  return words;
}
