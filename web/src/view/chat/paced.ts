// SPDX-License-Identifier: MIT

// Limits how often, and for how long, the page draws.

const cheap = 4; // milliseconds of work that a frame has room for
const rest = 3; // times as long as the work before it

/**
 * Does work at most once a frame, however often it is asked to, and less often the longer it
 * takes: so that most of the time stays for the reader. work returns whether it is done; else it
 * goes on with the next frame.
 */
export function paced(work: () => boolean): () => void {
  let asked = false;
  let free = 0; // when the next work may begin
  const frame = (now: number) => {
    if (now < free) {
      requestAnimationFrame(frame);
      return;
    }
    asked = false;
    const begun = performance.now();
    const done = work();
    const end = performance.now();
    free = end - begun > cheap ? end + rest * (end - begun) : 0;
    if (!done) ask();
  };
  const ask = () => {
    if (asked) return;
    asked = true;
    requestAnimationFrame(frame);
  };
  return ask;
}
