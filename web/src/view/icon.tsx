// SPDX-License-Identifier: MIT

const paths = {
  up: "M10 16V4M5 9l5-5 5 5",
  down: "M10 4v12M5 11l5 5 5-5",
  plus: "M10 4v12M4 10h12",
  close: "M5 5l10 10M15 5L5 15",
  menu: "M3 6h14M3 10h14M3 14h14",
  settings: "M3 6h7M14 6h3M3 14h3M10 14h7M10 6a2 2 0 1 0 4 0a2 2 0 1 0-4 0M6 14a2 2 0 1 0 4 0a2 2 0 1 0-4 0",
  stop: "M6 6h8v8H6z",
  grip: "M7.5 5h.01M7.5 10h.01M7.5 15h.01M12.5 5h.01M12.5 10h.01M12.5 15h.01",
  chevron: "M7 5l5 5-5 5",
  reset: "M4 10a6 6 0 1 0 2-4.5L4 7.5M4 3.5v4h4",
  dice: "M4 4h12v12H4zM7.5 7.5h.01M12.5 12.5h.01M10 10h.01",
} as const;

/** A drawing of 20 by 20 that says what a button does. A screen reader needs a label beside it. */
export function Icon({ name }: { name: keyof typeof paths }) {
  return (
    <svg viewBox="0 0 20 20" aria-hidden="true">
      <path d={paths[name]} />
    </svg>
  );
}
