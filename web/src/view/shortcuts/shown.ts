// SPDX-License-Identifier: MIT

// Whether the list of shortcuts and the palette are shown.
import { signal } from "@preact/signals";

export const helpShown = signal(false);
export const paletteShown = signal(false);
