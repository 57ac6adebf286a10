// SPDX-License-Identifier: MIT

// Which settings of a chat differ from the server's.
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
}: Settings): string[] {
  const words: string[] = [];
  if (system.trim() !== "") words.push("Instructions");
  if (format.kind !== "text")
    words.push(answerFormats.find(({ kind }) => kind === format.kind)?.label ?? format.kind);
  for (const { name } of plugins) if (!off.includes(`plugin:${name}`)) words.push(name);
  if (script?.on) words.push("Script");
  for (const [name, value] of Object.entries(sampling)) {
    const parameter = parameterNamed(name);
    if (parameter !== undefined) words.push(`${parameter.label} ${valueWords(parameter, value)}`.trim());
  }
  if (stop.length > 0) words.push(stop.length === 1 ? "1 stop string" : `${stop.length} stop strings`);
  if (chain !== undefined || off.some((stage) => pluginOf(stage) === undefined)) words.push("Sampler chain");
  if (templateArgs !== undefined) words.push("Template arguments");
  if (trace) words.push("Token record");
  return words;
}
