// SPDX-License-Identifier: MIT

// Which words of several texts differ.

const mostCells = 4_000_000; // of a table; of longer texts only ends that are alike are found

/**
 * Which words of each text are not in the same order in the first one, and of the first one, which
 * are in none of the others.
 */
export function differingWords(texts: readonly (readonly string[])[]): boolean[][] {
  const [first = [], ...others] = texts;
  const shared = first.map(() => false);
  const rest = others.map((other) => {
    const differs = other.map(() => true);
    for (const [a, b] of commonWords(first, other)) {
      shared[a] = true;
      differs[b] = false;
    }
    return differs;
  });
  return [shared.map((is) => !is && others.length > 0), ...rest];
}

/** The places of a longest common subsequence, by the classic table. */
function commonWords(a: readonly string[], b: readonly string[]): [number, number][] {
  const pairs: [number, number][] = [];
  let from = 0;
  while (from < a.length && from < b.length && a[from] === b[from]) pairs.push([from, from++]);
  let [endA, endB] = [a.length, b.length];
  while (endA > from && endB > from && a[endA - 1] === b[endB - 1]) pairs.push([--endA, --endB]);
  const [rows, columns] = [endA - from, endB - from];
  if (rows * columns > mostCells) return pairs;
  const width = columns + 1;
  const lengths = new Uint16Array((rows + 1) * width); // of the rests from each pair of places on
  const at = (i: number, j: number) => lengths[i * width + j] ?? 0;
  for (let i = rows - 1; i >= 0; i--)
    for (let j = columns - 1; j >= 0; j--)
      lengths[i * width + j] =
        a[from + i] === b[from + j] ? at(i + 1, j + 1) + 1 : Math.max(at(i + 1, j), at(i, j + 1));
  for (let i = 0, j = 0; i < rows && j < columns; ) {
    if (a[from + i] === b[from + j]) pairs.push([from + i++, from + j++]);
    else if (at(i + 1, j) >= at(i, j + 1)) i++;
    else j++;
  }
  return pairs;
}
