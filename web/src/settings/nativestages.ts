// SPDX-License-Identifier: MIT

// The native stages of the sampler chain, with their labels and parameters.
import { t } from "../language/language.ts";

/**
 * A native stage of the sampler chain, by llama.cpp's name. Its first parameter is the one that
 * matters most.
 */
export interface NativeStage {
  name: string;
  label: string;
  help: string;
  parameters: readonly string[];
  idle?(value: (parameter: string) => number): boolean; // it changes nothing with these values
  underMirostat?: true; // it still counts where Mirostat chooses
}

/** The stages that a chain may have, in the order in which they are offered. */
export const nativeStages: readonly NativeStage[] = [
  {
    name: "penalties",
    label: t("Penalties"),
    help: t("Makes tokens less likely if they have occurred in the last part of the chat."),
    parameters: ["repeat_penalty", "presence_penalty", "frequency_penalty", "repeat_last_n"],
    idle: (value) =>
      value("repeat_last_n") === 0 ||
      (value("repeat_penalty") === 1 && value("presence_penalty") === 0 && value("frequency_penalty") === 0),
    underMirostat: true,
  },
  {
    name: "dry",
    label: "DRY",
    help: t(
      "“Don't repeat yourself”: holds back tokens that would continue a phrase from earlier in the chat.",
    ),
    parameters: [
      "dry_multiplier",
      "dry_base",
      "dry_allowed_length",
      "dry_penalty_last_n",
      "dry_sequence_breakers",
    ],
    idle: (value) =>
      value("dry_multiplier") === 0 || value("dry_base") < 1 || value("dry_penalty_last_n") === 0,
    underMirostat: true,
  },
  {
    name: "top_n_sigma",
    label: "Top-nσ",
    help: t("Keeps the tokens that stand out from the noise, at any temperature."),
    parameters: ["top_n_sigma"],
    idle: (value) => value("top_n_sigma") <= 0,
  },
  {
    name: "top_k",
    label: "Top-k",
    help: t("Keeps a fixed number of tokens."),
    parameters: ["top_k"],
    idle: (value) => value("top_k") <= 0,
  },
  {
    name: "typ_p",
    label: "Typical-p",
    help: t("Keeps tokens that are neither too expected nor too surprising."),
    parameters: ["typical_p"],
    idle: (value) => value("typical_p") >= 1,
  },
  {
    name: "top_p",
    label: "Top-p",
    help: t("Keeps few tokens where the model is sure, and many where it is not."),
    parameters: ["top_p"],
    idle: (value) => value("top_p") >= 1,
  },
  {
    name: "min_p",
    label: "Min-p",
    help: t("Drops the tokens that are unlikely beside the best one."),
    parameters: ["min_p"],
    idle: (value) => value("min_p") <= 0,
  },
  {
    name: "xtc",
    label: "XTC",
    help: t("“Exclude top choices”: now and then takes the likeliest tokens away, for less worn words."),
    parameters: ["xtc_probability", "xtc_threshold"],
    idle: (value) => value("xtc_probability") <= 0 || value("xtc_threshold") > 0.5,
  },
  {
    name: "temperature",
    label: t("Temperature"),
    help: t("Decides how daring the choice among the remaining tokens is."),
    parameters: ["temperature", "dynatemp_range", "dynatemp_exponent"],
    idle: (value) => value("temperature") === 1 && value("dynatemp_range") === 0,
    underMirostat: true,
  },
  {
    name: "adaptive_p",
    label: "Adaptive-p",
    help: t("Chooses the token at the end, so that the chosen ones are on average as likely as you say."),
    parameters: ["adaptive_target", "adaptive_decay"],
    idle: (value) => value("adaptive_target") < 0,
  },
  {
    name: "infill",
    label: t("Infill"),
    help: t("For filling gaps in code: joins tokens that begin alike, and ends where the model is unsure."),
    parameters: [],
  },
];

const byName = new Map(nativeStages.map((stage) => [stage.name, stage]));

export function nativeNamed(name: string): NativeStage | undefined {
  return byName.get(name);
}
