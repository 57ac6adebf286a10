// SPDX-License-Identifier: MIT

// What is said of a model: its size and its state.
import type { Model } from "../../host/rest.ts";
import { t } from "../../language/language.ts";
import { count, parameterWords, tenths } from "../../text/numberformat.ts";
import { sentence, withoutPaths } from "../../text/sentence.ts";

export const states = { loaded: t("Loaded"), loading: t("Loading…"), unloaded: t("Not loaded") } as const;

/** How large a model is, as far as that is known. */
export function sizesOf({ size, parameters, context }: Model): string {
  const words = [
    parameters > 0 ? t("{n} parameters", { n: parameterWords(parameters) }) : "",
    size > 0 ? bytes(size) : "",
    context === undefined ? "" : t("context of {n} tokens", { n: count(context) }),
  ];
  return words.filter((word) => word !== "").join(" · ");
}

/** So many bytes, as people say it. */
export function bytes(n: number): string {
  return n >= 1e9
    ? t("{n} GB", { n: tenths(n / 1e9) })
    : t("{n} MB", { n: Math.max(1, Math.round(n / 1e6)) });
}

/** Why a model could not be loaded; empty where it was not tried, or could. */
export function failureOf({ failed }: Model): string {
  return failed === "" ? "" : withoutPaths(sentence(failed));
}

/** What went wrong, as a sentence. */
export function wordsOf(error: unknown): string {
  return withoutPaths(sentence(error instanceof Error ? error.message : String(error)));
}
