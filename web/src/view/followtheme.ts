// SPDX-License-Identifier: MIT

// Gives the page the colours of the theme that is chosen.
import { effect, type ReadonlySignal } from "@preact/signals";
import type { Theme } from "../settings/preferences.ts";

/**
 * Lets the page have the colours of a theme: style/theme.css has them by data-theme, which
 * public/theme.js has set before the page was drawn. The browser colours its own bars by meta
 * theme-color.
 */
export function followTheme(theme: ReadonlySignal<Theme>): void {
  const root = document.documentElement;
  const metas = [...document.querySelectorAll<HTMLMetaElement>('meta[name="theme-color"]')];
  const system = metas.map((meta) => meta.content); // one for light, one for dark
  effect(() => {
    if (theme.value === "system") delete root.dataset.theme;
    else root.dataset.theme = theme.value;
    metas.forEach((meta, at) => {
      const chosen = theme.value === "system" ? system[at] : system[theme.value === "light" ? 0 : 1];
      meta.content = chosen ?? "";
    });
  });
}
