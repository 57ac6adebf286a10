// SPDX-License-Identifier: MIT

/** A text as JSON, or why it is none. An empty one has no value. */
export function parsedJSON(text: string): { value?: unknown; problem?: string } {
  if (text.trim() === "") return {};
  try {
    return { value: JSON.parse(text) };
  } catch (error) {
    return { problem: `This is not JSON: ${error instanceof Error ? error.message : String(error)}` };
  }
}
