// SPDX-License-Identifier: MIT
// Ends the answer after so many sentences.
// config: {"sentences": 2}
let text = "";
export function stop(piece) {
  text += piece;
  if ([...text.matchAll(/[.!?]["']?(?=\s)|[。！？]/g)].length >= config.sentences) return "end";
}
