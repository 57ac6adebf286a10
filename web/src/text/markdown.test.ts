// SPDX-License-Identifier: MIT
import assert from "node:assert/strict";
import { test } from "node:test";
import { renderMarkdown } from "./markdown.ts";

for (const [name, text] of [
  ["a tag", '<script>alert(1)</script><img src=x onerror="alert(2)">'],
  ["a link to code", "[x](javascript:alert(1)) [y](data:text/html,z) [z](vbscript:q) <javascript:alert(2)>"],
  ["a link to data that is an image", "[x](data:image/png;base64,AAAA) ![y](data:image/gif;base64,AAAA)"],
  ["a link into this host", "[x](v1/models) [y](#/plugins) [z](//example.org/x)"],
  ["a title", '[x](https://example.org "a\\" onclick=\\"alert(1)")'],
  ["a formula", "$<img src=x onerror=alert(1)>$ $$<b>x</b>$$"],
  ["an image", '![alt "text" <b>](https://example.org/track.png)'],
  ["an attribute in a fence", '```"onload="alert(1)\nx\n```'],
  ["an entity", "&lt;script&gt;alert(1)&lt;/script&gt;"],
] as const) {
  test(`renderMarkdown: ${name} is inert`, () => {
    const html = renderMarkdown(text);
    assert.doesNotMatch(html, /<(script|img|iframe|b)\b/i);
    assert.doesNotMatch(html.replace(/"[^"]*"/g, '""'), /<[^>]*\son\w+/i);
    assert.doesNotMatch(html, /href="(?!https?:)/i);
  });
}

test("renderMarkdown: a link opens elsewhere and tells nothing of this page", () => {
  assert.match(
    renderMarkdown("[x](https://example.org)"),
    /target="_blank" rel="noopener noreferrer nofollow"/,
  );
});

test("renderMarkdown: a table scrolls in itself, and is aligned without a style attribute", () => {
  const html = renderMarkdown("| a | b |\n|--:|---|\n| 1 | 2 |");
  assert.match(html, /<div class="table"[^>]* tabindex="0"><table dir="auto">[\s\S]*<td class="right">1/);
  assert.doesNotMatch(html, /style=/);
});

test("renderMarkdown: code has its language and a button", () => {
  const html = renderMarkdown("```Python title\nx < 1\n```");
  assert.match(
    html,
    /data-language="python".*<span>Python<\/span><button[^>]*>Copy<.*<code>x &lt; 1\n<\/code>/,
  );
  assert.match(renderMarkdown("    plain"), /<span>text<\/span>.*<code>plain/);
});

test("renderMarkdown: tasks", () => {
  const html = renderMarkdown("- [ ] one\n- [x] two\n- [y] three\n\n[x] four");
  assert.equal(html.match(/<input type="checkbox" disabled/g)?.length, 2);
  assert.match(html, /checked aria-label="Done"> two/);
});

test("renderMarkdown: controls of direction are shown by their names, in text and in code", () => {
  const html = renderMarkdown("a\u202Eb `c\u2066d`\n\n```\ne\u2069\n```");
  assert.doesNotMatch(html, /[\u202A-\u202E\u2066-\u2069]/);
  assert.equal(html.match(/data-name="U\+(202E|2066|2069)"/g)?.length, 3);
});
