// SPDX-License-Identifier: MIT
import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { test } from "node:test";
import { galleryScript } from "./gallery.ts";

const folder = new URL("../../../plugins/script/gallery/", import.meta.url);

test("galleryScript: each file of the gallery says what it does, and its example is JSON", () => {
  const files = readdirSync(folder).filter((file) => file.endsWith(".js"));
  assert.equal(files.length, 21);
  for (const file of files) {
    const { name, summary, source, config } = galleryScript(
      file,
      readFileSync(new URL(file, folder), "utf8"),
    );
    assert.equal(`${name}.js`, file);
    assert.ok(summary.length <= 90 && summary.endsWith("."), `${name}: ${summary}`);
    assert.ok(config === "" || JSON.parse(config), name);
    assert.equal(/\bconfig\b/.test(source), config !== "", `${name}: its example`);
    assert.ok(source.split("\n").length <= 13, `${name} is long`); // 12, and what it does
    assert.doesNotMatch(source, /SPDX/, name);
    assert.match(source, /^\/\/ .+\n(?:.+\n)*export function /, name);
    assert.doesNotMatch(source, /^\/\/ config:/m, name);
  }
});

test("galleryScript: a file that says nothing is an error", () => {
  assert.throws(() => galleryScript("a.js", "export function sample() {}\n"), /a: its first line/);
});
