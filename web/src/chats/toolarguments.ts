// SPDX-License-Identifier: MIT

// The arguments of a tool call, laid out for people.

/**
 * The arguments of a tool call to be read: JSON with a line for each value, or as the model wrote
 * them if they are no JSON.
 */
export function readableArguments(given: string): string {
  try {
    return JSON.stringify(JSON.parse(given), undefined, 2);
  } catch {
    return given;
  }
}
