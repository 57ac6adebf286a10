// SPDX-License-Identifier: MIT

// An answer that is JSON, as one bound to a schema is, shown as code.

const begins = /^\s*(?:\{\s*"|\[\s*\{)/; // as no prose does

/** The answer's text in Markdown: where it is JSON and nothing else, a block of code. */
export function jsonAsCode(text: string, done: boolean): string {
  if (!begins.test(text) || (done && !isJSON(text))) return text;
  const longest = (text.match(/`{3,}/g) ?? []).reduce((most, { length }) => Math.max(most, length), 2);
  const fence = "`".repeat(longest + 1);
  return `${fence}json\n${text}${done ? `\n${fence}` : ""}`;
}

function isJSON(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
