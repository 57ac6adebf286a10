// SPDX-License-Identifier: MIT
import assert from "node:assert/strict";
import { test } from "node:test";
import { highlight } from "./highlight.ts";
import { knownLanguage } from "./languages.ts";

for (const name of ["python", "JS", "c++", "html", "shell", "golang", "yml"]) {
  test(`highlight: ${name}`, () => {
    const language = knownLanguage(name);
    assert.ok(language !== undefined);
    const html = highlight('x = "<b>" # 1\n', language);
    assert.match(html, /&lt;/);
    assert.doesNotMatch(html, /<(?!\/?span)/);
  });
}

test("highlight: kinds of words have classes, and controls of direction their names", () => {
  const html = highlight("def f():\n    return 'a\u202E'\n", "python");
  assert.match(html, /<span class="hljs-keyword">def<\/span>/);
  assert.match(html, /data-name="U\+202E"/);
});

test("knownLanguage: no other language, nor what objects inherit", () => {
  for (const name of ["", "brainfuck", "constructor", "__proto__"])
    assert.equal(knownLanguage(name), undefined);
});
