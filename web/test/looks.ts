// SPDX-License-Identifier: MIT

// The sizes and colours in which the page is tried.
import type { BrowserContextOptions } from "playwright-core";

const phone = { viewport: { width: 360, height: 740 }, isMobile: true, hasTouch: true };
const tablet = { viewport: { width: 820, height: 1080 }, hasTouch: true };
const desktop = { viewport: { width: 1280, height: 800 } };

/** The three sizes. */
export const sizes: Record<string, BrowserContextOptions> = { desktop, tablet, phone };

/** Each size in light and dark. */
export const looks: Record<string, BrowserContextOptions> = Object.fromEntries(
  Object.entries(sizes).flatMap(([size, options]) => [
    [`light, ${size}`, { ...options, colorScheme: "light" }],
    [`dark, ${size}`, { ...options, colorScheme: "dark" }],
  ]),
);
