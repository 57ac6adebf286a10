// SPDX-License-Identifier: MIT

// All icons.

const paths = {
  up: "M10 16V4M5 9l5-5 5 5",
  down: "M10 4v12M5 11l5 5 5-5",
  plus: "M10 4v12M4 10h12",
  previous: "M14 5l-5 5 5 5M6 5v10",
  next: "M6 5l5 5-5 5M14 5v10",
  close: "M5 5l10 10M15 5L5 15",
  menu: "M3 6h14M3 10h14M3 14h14",
  settings: "M3 6h7M14 6h3M3 14h3M10 14h7M10 6a2 2 0 1 0 4 0a2 2 0 1 0-4 0M6 14a2 2 0 1 0 4 0a2 2 0 1 0-4 0",
  left: "M12 5l-5 5 5 5",
  right: "M8 5l5 5-5 5",
  copy: "M7 7h9v9H7zM13 7V4H4v9h3",
  check: "M4 10.5l4 4 8-9",
  edit: "M4 16l1-4 8-8 3 3-8 8zM11.5 5.5l3 3",
  again: "M16 10a6 6 0 1 1-1.8-4.3M16 3v4h-4",
  goOn: "M5 4v12M9 5l7 5-7 5z",
  trash: "M4 6h12M8 6V4h4v2M6 6l.7 10h6.6L14 6",
  script: "M7 5l-4.5 5L7 15M13 5l4.5 5-4.5 5M11.2 4l-2.4 12",
  inspect: "M9 15a6 6 0 1 0 0-12a6 6 0 1 0 0 12M13.5 13.5L17 17",
  clip: "M15.5 9.5l-5.7 5.7a3.3 3.3 0 0 1-4.7-4.7l6.2-6.2a2.2 2.2 0 0 1 3.1 3.1l-6.1 6.1a1.1 1.1 0 0 1-1.6-1.6l5.6-5.6",
  file: "M5 3h6l4 4v10H5zM11 3v4h4",
  stop: "M6 6h8v8H6z",
  fork: "M6 3.5v13M6 12c5.5 0 8-2.5 8-8M11.2 6.3L14 3.5l2.8 2.8",
  roads: "M10 17v-5l-5-5V3.5M10 12l5-5V3.5M2.8 5.7L5 3.5l2.2 2.2M12.8 5.7L15 3.5l2.2 2.2",
  columns: "M3.5 4h5.5v12H3.5zM11 4h5.5v12H11z",
  back: "M9 5l-5 5 5 5M4 10h12",
  steer:
    "M10 3a7 7 0 1 0 0 14a7 7 0 1 0 0-14M10 8.5a1.5 1.5 0 1 0 0 3a1.5 1.5 0 1 0 0-3M3.2 9h5.3M11.5 9h5.3M10 11.5V17",
  grip: "M7.5 5h.01M7.5 10h.01M7.5 15h.01M12.5 5h.01M12.5 10h.01M12.5 15h.01",
  chevron: "M7 5l5 5-5 5",
  reset: "M4 10a6 6 0 1 0 2-4.5L4 7.5M4 3.5v4h4",
  dice: "M4 4h12v12H4zM7.5 7.5h.01M12.5 12.5h.01M10 10h.01",
  sidebar:
    "M5 3.5h10A1.5 1.5 0 0 1 16.5 5v10a1.5 1.5 0 0 1-1.5 1.5H5A1.5 1.5 0 0 1 3.5 15V5A1.5 1.5 0 0 1 5 3.5zM8 3.5v13",
  compose:
    "M9.5 4H5.5A1.5 1.5 0 0 0 4 5.5v9A1.5 1.5 0 0 0 5.5 16h9a1.5 1.5 0 0 0 1.5-1.5v-4M15.5 3.2a1.3 1.3 0 0 1 1.8 1.8L11 11.3l-2.5.7.7-2.5z",
  search: "M9 3.5a5.5 5.5 0 1 0 0 11a5.5 5.5 0 1 0 0-11M13 13l4 4",
  more: "M4.5 10h.01M10 10h.01M15.5 10h.01",
  sun: "M10 6.5a3.5 3.5 0 1 0 0 7a3.5 3.5 0 1 0 0-7M10 2v1.5M10 16.5V18M2 10h1.5M16.5 10H18M4.3 4.3l1.1 1.1M14.6 14.6l1.1 1.1M4.3 15.7l1.1-1.1M14.6 5.4l1.1-1.1",
  moon: "M16.5 11.8A6.8 6.8 0 1 1 8.2 3.5a5.4 5.4 0 0 0 8.3 8.3z",
  screen: "M3 4.5h14v9H3zM7.5 16.5h5M10 13.5v3",
  models: "M10 3l7 4-7 4-7-4zM3 11l7 4 7-4",
  plug: "M7 3v4M13 3v4M5 7h10v2.5a5 5 0 0 1-10 0zM10 14.5V17",
  pulse: "M2.5 10h3.5l2-5.5 3.5 11 2.5-5.5h3.5",
  pause: "M7 5v10M13 5v10",
  play: "M7 5l8 5-8 5z",
} as const;

/** A drawing of 20 by 20 that says what a button does. A screen reader needs a label beside it. */
export function Icon({ name }: { name: keyof typeof paths }) {
  return (
    <svg viewBox="0 0 20 20" aria-hidden="true" data-icon={name}>
      <path d={paths[name]} />
    </svg>
  );
}
