// SPDX-License-Identifier: MIT

// Finds a token of the source in the text that Markdown made of it.

const ahead = 40; // characters that one of the texts may have alone, such as the marks of Markdown

/** Where a part of the source stands, of which the places are known. */
export function spanOf(
  places: Int32Array,
  from: number,
  to: number,
): { from: number; to: number } | undefined {
  const found = places.subarray(from, to).filter((place) => place >= 0);
  const [first] = found;
  const last = found.at(-1);
  return first === undefined || last === undefined ? undefined : { from: first, to: last + 1 };
}

/**
 * Where each character of a source stands in the text that was drawn from it; −1: nowhere. It walks
 * along both: what stands in one of them alone, such as the asterisks of bold text, is stepped
 * over.
 */
export function alignment(source: string, drawn: string): Int32Array {
  const places = new Int32Array(source.length).fill(-1);
  let at = 0; // in drawn
  for (let i = 0; i < source.length && at < drawn.length; i++) {
    if (isSpace(source, i)) continue;
    while (at < drawn.length && isSpace(drawn, at)) at++;
    const found = source[i] === drawn[at] ? at : nearby(source, i, drawn, at);
    if (found === -1) continue;
    places[i] = found;
    at = found + 1;
  }
  return places;
}

/**
 * Where the source goes on in the drawn text, if it does so soon: a few characters must agree, or
 * a mark would do.
 */
function nearby(source: string, i: number, drawn: string, at: number): number {
  const next = source.slice(i, i + 4);
  if (next.length < 4) return -1;
  const found = drawn.slice(at, at + ahead + next.length).indexOf(next);
  return found === -1 ? -1 : at + found;
}

function isSpace(text: string, at: number): boolean {
  const code = text.charCodeAt(at);
  return code <= 0x20 || code === 0xa0;
}
