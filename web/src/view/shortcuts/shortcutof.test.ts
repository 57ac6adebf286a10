// SPDX-License-Identifier: MIT
import assert from "node:assert/strict";
import { test } from "node:test";
import { type Pressed, shortcutOf } from "./shortcutof.ts";

const shortcuts = [
  { key: "n", name: "letter", run() {} },
  { key: "/", name: "slash", run() {} },
  { key: "/", ctrl: true, name: "help", run() {} },
  { key: "k", ctrl: true, name: "palette", run() {} },
  { key: "o", ctrl: true, shift: true, name: "new", run() {} },
];
const key = (pressed: Partial<Pressed>): Pressed => ({
  key: "n",
  ctrlKey: false,
  metaKey: false,
  shiftKey: false,
  altKey: false,
  defaultPrevented: false,
  ...pressed,
});
const free = { typing: false, letters: true };

for (const [name, pressed, where, want] of [
  ["a letter", {}, free, "letter"],
  ["a letter with caps lock", { key: "N" }, free, "letter"],
  ["a letter while typing", {}, { ...free, typing: true }, undefined],
  ["a letter where they are off", {}, { ...free, letters: false }, undefined],
  ["a letter with Ctrl: the browser's", { ctrlKey: true }, free, undefined],
  ["a letter with Alt: the browser's", { altKey: true }, free, undefined],
  ["with Ctrl while typing", { key: "/", ctrlKey: true }, { typing: true, letters: false }, "help"],
  ["with ⌘", { key: "/", metaKey: true }, free, "help"],
  ["a mark that takes Shift", { key: "/", ctrlKey: true, shiftKey: true }, free, "help"],
  ["Ctrl and a letter", { key: "k", ctrlKey: true }, { ...free, typing: true }, "palette"],
  ["Ctrl, Shift and a letter", { key: "O", ctrlKey: true, shiftKey: true }, { ...free, typing: true }, "new"],
  ["Ctrl and Shift where only Ctrl counts", { key: "K", ctrlKey: true, shiftKey: true }, free, undefined],
  ["Ctrl where Shift counts, too", { key: "o", ctrlKey: true }, free, undefined],
  ["AltGr", { key: "/", ctrlKey: true, altKey: true }, free, undefined],
  ["handled already", { defaultPrevented: true }, free, undefined],
  ["an unknown key", { key: "x" }, free, undefined],
] as const) {
  test(`shortcutOf: ${name}`, () => assert.equal(shortcutOf(shortcuts, key(pressed), where)?.name, want));
}
