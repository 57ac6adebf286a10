// SPDX-License-Identifier: MIT

// What is said of a model: its size and its state.
import type { Model } from "../../host/rest.ts";
import { count, parameterWords } from "../../text/numberformat.ts";
import { sentence, withoutPaths } from "../../text/sentence.ts";

export const states = { loaded: "Loaded", loading: "Loading…", unloaded: "Not loaded" } as const;

/** How large a model is, as far as that is known. */
export function sizesOf({ size, parameters, context }: Model): string {
  const words = [
    parameters > 0 ? `${parameterWords(parameters)} parameters` : "",
    size > 0 ? bytes(size) : "",
    context === undefined ? "" : `context of ${count(context)} tokens`,
  ];
  return words.filter((word) => word !== "").join(" · ");
}

/** So many bytes, as people say it. */
export function bytes(n: number): string {
  return n >= 1e9 ? `${(n / 1e9).toFixed(1)} GB` : `${Math.max(1, Math.round(n / 1e6))} MB`;
}

/** Why a model could not be loaded; empty where it was not tried, or could. */
export function failureOf({ failed }: Model): string {
  return failed === "" ? "" : withoutPaths(sentence(failed));
}

/** What went wrong, as a sentence. */
export function wordsOf(error: unknown): string {
  return withoutPaths(sentence(error instanceof Error ? error.message : String(error)));
}
