// SPDX-License-Identifier: MIT

const paths = {
  up: "M10 16V4M5 9l5-5 5 5",
  down: "M10 4v12M5 11l5 5 5-5",
  plus: "M10 4v12M4 10h12",
  close: "M5 5l10 10M15 5L5 15",
  menu: "M3 6h14M3 10h14M3 14h14",
  settings: "M3 6h7M14 6h3M3 14h3M10 14h7M10 6a2 2 0 1 0 4 0a2 2 0 1 0-4 0M6 14a2 2 0 1 0 4 0a2 2 0 1 0-4 0",
  stop: "M6 6h8v8H6z",
} as const;

/** A drawing of 20 by 20 that says what a button does. A screen reader needs a label beside it. */
export function Icon({ name }: { name: keyof typeof paths }) {
  return (
    <svg viewBox="0 0 20 20" aria-hidden="true">
      <path d={paths[name]} />
    </svg>
  );
}
