// SPDX-License-Identifier: MIT

// Finds a token of the source in the text that Markdown made of it.

const ahead = 40; // characters that one of the texts may have alone, such as the marks of Markdown

/**
 * Finds a part of a source in the text that was drawn from it, by walking along both: what stands
 * in one of them alone, such as the asterisks of bold text, is stepped over. undefined if nothing
 * of the part is there.
 */
export function aligned(
  source: string,
  drawn: string,
  from: number,
  to: number,
): { from: number; to: number } | undefined {
  return spanOf(alignment(source, drawn, to), from, to);
}

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

/** Where each character of the source stands in the drawn text, up to one; −1: nowhere. */
export function alignment(source: string, drawn: string, to = source.length): Int32Array {
  const places = new Int32Array(to).fill(-1);
  let at = 0; // in drawn
  for (let i = 0; i < to && at < drawn.length; i++) {
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
