// SPDX-License-Identifier: MIT

// The arguments of a tool call, laid out for people.
import { laidOutJSON } from "../text/parsedjson.ts";

/**
 * The arguments of a tool call to be read: JSON with a line for each value, or as the model wrote
 * them if they are no JSON.
 */
export function readableArguments(given: string): string {
  try {
    return laidOutJSON(JSON.parse(given));
  } catch {
    return given;
  }
}
