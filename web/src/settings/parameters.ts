// SPDX-License-Identifier: MIT

// The sampling parameters, with their labels, ranges and explanations.
import { t } from "../language/language.ts";

/**
 * A number of a request. The ranges are the host's: host/sampling/params.go, which a test
 * compares.
 */
export interface NumberParameter {
  kind: "number" | "integer";
  name: string; // in a request
  label: string;
  help: string;
  low: number;
  high: number;
  step: number; // of the arrow keys
  slider?: readonly [number, number]; // what a person usually moves within
  unit?: string;
  words?: Readonly<Record<number, string>>; // what a special value means
}

/** Another value of a request. */
export interface OtherParameter {
  kind: "switch" | "text" | "texts";
  name: string;
  label: string;
  help: string;
}

export type Parameter = NumberParameter | OtherParameter;
export type Value = number | boolean | string | readonly string[];

const off = t("off");
const share = { low: 0, high: 1, step: 0.01, slider: [0, 1] } as const;
const furthest = 1 << 20; // tokens that a penalty may look back
const largest = 2 ** 31 - 1;
const lookBack = {
  kind: "integer",
  low: -1,
  high: furthest,
  step: 16,
  unit: t("tokens"),
  words: { [-1]: t("the whole context"), 0: off },
} as const;

function number(
  name: string,
  label: string,
  help: string,
  range: Omit<NumberParameter, "kind" | "name" | "label" | "help">,
): NumberParameter {
  return { kind: "number", name, label, help, ...range };
}

function integer(
  name: string,
  label: string,
  help: string,
  range: Omit<NumberParameter, "kind" | "name" | "label" | "help">,
): NumberParameter {
  return { ...number(name, label, help, range), kind: "integer" };
}

/**
 * Every parameter that the settings can hold, by the host's name. Those of a stage are listed in
 * nativestages.ts.
 */
export const parameters: readonly Parameter[] = [
  number(
    "temperature",
    t("Temperature"),
    t("Low values keep to the likeliest tokens, high ones give rare tokens a chance."),
    {
      low: 0,
      high: 100,
      step: 0.05,
      slider: [0, 2],
      words: { 0: t("always the likeliest token") },
    },
  ),
  number(
    "dynatemp_range",
    t("Dynamic range"),
    t("The temperature moves up and down by this much: up where the model is unsure."),
    {
      low: 0,
      high: 100,
      step: 0.05,
      slider: [0, 2],
      words: { 0: off },
    },
  ),
  number(
    "dynatemp_exponent",
    t("Dynamic exponent"),
    t("How the temperature follows the model's doubt: above 1 it rises late, below 1 early."),
    {
      low: 0,
      high: 100,
      step: 0.1,
      slider: [0, 3],
    },
  ),
  integer("top_k", t("Keep at most"), t("Keeps this many of the likeliest tokens."), {
    low: -1,
    high: largest,
    step: 1,
    slider: [0, 100],
    unit: t("tokens"),
    words: { [-1]: off, 0: off },
  }),
  number(
    "top_p",
    t("Keep a share of"),
    t("Keeps the likeliest tokens that together have this probability."),
    {
      ...share,
      words: { 1: off },
    },
  ),
  number("min_p", t("Drop below"), t("Drops tokens less likely than this share of the likeliest one."), {
    ...share,
    words: { 0: off },
  }),
  number(
    "typical_p",
    t("Keep a share of"),
    t("Keeps tokens about as surprising as usual, until they have this probability together."),
    {
      ...share,
      words: { 1: off },
    },
  ),
  number(
    "top_n_sigma",
    t("Keep within"),
    t("Keeps tokens whose logits lie within this many standard deviations of the best."),
    {
      low: -1,
      high: 1000,
      step: 0.1,
      slider: [0, 5],
      unit: "σ",
      words: { [-1]: off, 0: off },
    },
  ),
  number(
    "xtc_probability",
    t("How often"),
    t("How often the likeliest tokens are taken away, so that less expected ones are written."),
    {
      ...share,
      words: { 0: off },
    },
  ),
  number(
    "xtc_threshold",
    t("Threshold"),
    t("Only tokens at least this likely are taken away, and the least likely of them stays."),
    {
      ...share,
      words: { 1: off },
    },
  ),
  number("repeat_penalty", t("Repeat penalty"), t("Above 1, tokens that have occurred become less likely."), {
    low: 0.01,
    high: 100,
    step: 0.05,
    slider: [0.5, 2],
    words: { 1: off },
  }),
  number(
    "presence_penalty",
    t("Presence penalty"),
    t("Is taken off the logit of every token that has occurred."),
    {
      low: -100,
      high: 100,
      step: 0.1,
      slider: [-2, 2],
      words: { 0: off },
    },
  ),
  number(
    "frequency_penalty",
    t("Frequency penalty"),
    t("Is taken off the logit for each time that the token has occurred."),
    {
      low: -100,
      high: 100,
      step: 0.1,
      slider: [-2, 2],
      words: { 0: off },
    },
  ),
  { ...lookBack, name: "repeat_last_n", label: t("Look back"), help: t("How far back the penalties look.") },
  number(
    "dry_multiplier",
    t("Strength"),
    t("How strongly a token is held back that would go on with a repetition."),
    {
      low: 0,
      high: 100,
      step: 0.1,
      slider: [0, 5],
      words: { 0: off },
    },
  ),
  number(
    "dry_base",
    t("Growth"),
    t("The penalty is multiplied by this for every further token of the repetition."),
    {
      low: 0,
      high: 100,
      step: 0.05,
      slider: [1, 4],
    },
  ),
  integer("dry_allowed_length", t("Allowed length"), t("Repetitions up to this length cost nothing."), {
    low: 0,
    high: furthest,
    step: 1,
    slider: [0, 20],
    unit: t("tokens"),
  }),
  {
    ...lookBack,
    name: "dry_penalty_last_n",
    label: t("Look back"),
    help: t("How far back repetitions are looked for."),
  },
  {
    kind: "texts",
    name: "dry_sequence_breakers",
    label: t("Sequence breakers"),
    help: t("A repetition never goes on across one of these texts."),
  },
  number(
    "adaptive_target",
    t("Target"),
    t("The probability that the chosen tokens should have on average."),
    {
      low: -1,
      high: 1,
      step: 0.01,
      slider: [0, 1],
      words: { [-1]: off },
    },
  ),
  number(
    "adaptive_decay",
    t("of an average|Memory"),
    t("How slowly earlier tokens are forgotten in that average."),
    {
      low: 0,
      high: 0.99,
      step: 0.01,
      slider: [0, 0.99],
    },
  ),
  integer(
    "mirostat",
    "Mirostat",
    t("Steers towards one level of surprise, in place of the stages that drop tokens."),
    {
      low: 0,
      high: 2,
      step: 1,
      words: { 0: off },
    },
  ),
  number("mirostat_tau", t("Surprise"), t("The surprise to keep to: low values write what is expected."), {
    low: 0,
    high: 100,
    step: 0.1,
    slider: [0, 10],
  }),
  number("mirostat_eta", t("Learning rate"), t("How fast it steers back."), {
    low: 0,
    high: 10,
    step: 0.01,
    slider: [0, 1],
  }),
  integer("min_keep", t("Keep at least"), t("No stage leaves fewer tokens than this to choose from."), {
    low: 0,
    high: furthest,
    step: 1,
    unit: t("tokens"),
  }),
  integer(
    "seed",
    t("Seed"),
    t("The same request with the same seed has the same answer. Without one, each answer is another."),
    {
      low: 0,
      high: 2 ** 32 - 2,
      step: 1,
    },
  ),
  integer("max_tokens", t("Length"), t("The answer is cut after this many tokens (max_tokens)."), {
    low: 1,
    high: largest,
    step: 64,
  }),
  {
    kind: "switch",
    name: "ignore_eos",
    label: t("Go on to the limit"),
    help: t("The model cannot end its answer by itself."),
  },
  integer("timeout_ms", t("Time limit"), t("An answer that takes longer ends with an error."), {
    low: 1,
    high: 86_400_000,
    step: 1000,
    unit: "ms",
  }),
  integer(
    "priority",
    t("Priority"),
    t(
      "Who goes first when many wait: one step counts as 10 s of waiting. Above 0 the server wants a key for it.",
    ),
    {
      low: -100,
      high: 100,
      step: 1,
    },
  ),
  {
    kind: "switch",
    name: "cache_prompt",
    label: t("Reuse computed prompts"),
    help: t("What this chat has in common with earlier prompts is not computed again."),
  },
  integer(
    "reasoning_budget_tokens",
    t("Reasoning budget"),
    t("After this many tokens of reasoning the model has to answer."),
    {
      low: -1,
      high: largest,
      step: 64,
      unit: t("tokens"),
      words: { [-1]: t("no limit"), 0: t("no reasoning") },
    },
  ),
  {
    kind: "text",
    name: "reasoning_budget_message",
    label: t("Last words of the reasoning"),
    help: t("Stands at the end of a reasoning that was cut by its budget."),
  },
  {
    kind: "text",
    name: "reasoning_effort",
    label: t("Reasoning effort"),
    help: t("A level that the model's template knows, such as low or high; none asks it not to reason."),
  },
];

const byName = new Map(parameters.map((parameter) => [parameter.name, parameter]));

export function parameterNamed(name: string): Parameter | undefined {
  return byName.get(name);
}

export function numberNamed(name: string): NumberParameter {
  const parameter = byName.get(name);
  if (parameter === undefined || (parameter.kind !== "number" && parameter.kind !== "integer"))
    throw new Error(`${name} is no number`); // untranslated: for programmers
  return parameter;
}

/**
 * Reads what was typed for a number: the number, undefined where nothing was, or what is wrong
 * with it.
 */
export function parseNumber(parameter: NumberParameter, typed: string): { value?: number; problem?: string } {
  const whole = parameter.kind === "integer" && /^\d{1,3}([.,]\d{3})+$/.test(typed.trim()); // in groups
  const text = typed
    .trim()
    .replace(/[.,]/g, whole ? "" : ".")
    .replace("−", "-");
  if (text === "") return {};
  const value = /^[-+]?(\d+\.?\d*|\.\d+)(e[-+]?\d+)?$/i.test(text) ? Number(text) : Number.NaN;
  return inRange(parameter, value) ? { value } : { problem: rangeWords(parameter) };
}

/** Whether the host would take the value. */
export function inRange({ kind, low, high }: NumberParameter, value: number): boolean {
  return value >= low && value <= high && (kind === "number" || Number.isInteger(value));
}

/** What the host would take, in words. */
export function rangeWords({ kind, low, high, unit }: NumberParameter): string {
  const withUnit = (value: number) =>
    unit === undefined ? String(value) : t("{value} ({unit})", { value: String(value), unit });
  if (high >= largest && high !== 2 ** 32 - 2) {
    const least = { low: withUnit(low) };
    return kind === "integer"
      ? t("It must be a whole number of at least {low}.", least)
      : t("It must be a number of at least {low}.", least);
  }
  const range = { low: String(low), high: withUnit(high) };
  return kind === "integer"
    ? t("It must be a whole number from {low} to {high}.", range)
    : t("It must be a number from {low} to {high}.", range);
}

/** The value as the page shows it: "40", "0.05", "off". */
export function valueWords(parameter: Parameter, value: unknown): string {
  if (typeof value === "boolean") return value ? t("on") : off;
  if (typeof value === "number") {
    const words = "words" in parameter ? parameter.words?.[value] : undefined;
    return words === off ? words : String(value);
  }
  return typeof value === "string" ? value : "";
}
