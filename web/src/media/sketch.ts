// SPDX-License-Identifier: MIT

/**
 * A drawing to ask about first: three circles and a square on white paper. Places and sizes are in
 * pixels.
 */
export const sketch = {
  side: 240,
  circles: [
    { x: 56, y: 60, radius: 28 },
    { x: 178, y: 78, radius: 28 },
    { x: 120, y: 182, radius: 28 },
  ],
  square: { x: 24, y: 150, side: 52 },
  colors: { circle: "#dc2828", square: "#2848dc" },
};
