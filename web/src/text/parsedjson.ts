// SPDX-License-Identifier: MIT

// Reads JSON that people wrote, and lays JSON out for them.
import { t } from "../language/language.ts";

/** A text as JSON, or why it is none. An empty one has no value. */
export function parsedJSON(text: string): { value?: unknown; problem?: string } {
  if (text.trim() === "") return {};
  try {
    return { value: JSON.parse(text) };
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    return { problem: t("This is not JSON: {why}", { why }) };
  }
}

const deepest = 20; // levels that are laid out: each line of a level begins with as many spaces

/** JSON with a line for each value. One nested deeper than people read stays on one line. */
export function laidOutJSON(value: unknown): string {
  return isDeeper(value, deepest) ? JSON.stringify(value) : JSON.stringify(value, undefined, 2);
}

/** Whether a value is an object of JSON, and neither a list nor null. */
export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Whether a value of JSON has more levels of lists and objects than these. */
export function isDeeper(value: unknown, levels: number): boolean {
  if (typeof value !== "object" || value === null) return false;
  return levels === 0 || Object.values(value).some((inner) => isDeeper(inner, levels - 1));
}
