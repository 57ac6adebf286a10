// SPDX-License-Identifier: MIT

// The sizes in which the page is tried.

export const phone = { viewport: { width: 360, height: 740 }, isMobile: true, hasTouch: true };
const tablet = { viewport: { width: 820, height: 1080 }, isMobile: false, hasTouch: true };
const desktop = { viewport: { width: 1280, height: 800 }, isMobile: false, hasTouch: false };

/** All of them, for what is laid out: what the page does is tried in one size. */
export const sizes = { desktop, tablet, phone };

/** Both, for what a phone has keys, fingers or dialogs of its own for. */
export const devices = { desktop, phone };
