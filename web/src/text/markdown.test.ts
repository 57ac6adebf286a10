// SPDX-License-Identifier: MIT
import assert from "node:assert/strict";
import { test } from "node:test";
import { GrowingMarkdown, render } from "./markdown.ts";

const document = `# Title

A paragraph with **bold**
and a second line.

1. one
2. two

   still two

- a
- b

\`\`\`python
def square(x):

    return x * x
\`\`\`

| a | b |
|---|---|
| 1 | 2 |

> quoted

Setext
------

Last words.`;

for (const [name, text] of [
  ["a tag", '<script>alert(1)</script><img src=x onerror="alert(2)">'],
  ["a link to code", "[x](javascript:alert(1)) [y](data:text/html,z) [z](vbscript:q)"],
  ["an image", '![alt "text" <b>](https://example.org/track.png)'],
  ["an attribute in a fence", '```"onload="alert(1)\nx\n```'],
  ["an entity", "&lt;script&gt;alert(1)&lt;/script&gt;"],
] as const) {
  test(`render: ${name} is inert`, () => {
    const html = render(text);
    assert.doesNotMatch(html, /<(script|img|iframe|b)\b/i);
    assert.doesNotMatch(html, /<[^>]*\s(on\w+|href="(?!https?:))/i);
  });
}

test("render: a link opens elsewhere and tells nothing of this page", () => {
  assert.match(render("[x](https://example.org)"), /target="_blank" rel="noopener noreferrer nofollow"/);
});

for (const step of [1, 3, 7, 50]) {
  test(`GrowingMarkdown.grow: ${step} letters at a time end as the whole text at once`, () => {
    const growing = new GrowingMarkdown();
    let settled = "";
    let tail = "";
    for (let end = step; end < document.length + step; end += step) {
      const growth = growing.grow(document.slice(0, end));
      settled += growth.settled;
      tail = growth.tail;
    }
    assert.equal(settled + tail, render(document));
    assert.ok(settled.includes("<h1>Title</h1>"), "the title was not settled");
    assert.ok(!tail.includes("Title"), "the title was drawn again to the end");
  });
}

test("GrowingMarkdown.grow: line ends of Windows, and the same text twice", () => {
  const growing = new GrowingMarkdown();
  const text = "one\r\n\r\ntwo\r\n\r\nthree\r\n";
  const first = growing.grow(text);
  const second = growing.grow(text);
  assert.equal(first.settled + second.settled + second.tail, render(text));
});

test("GrowingMarkdown.grow: of a long answer each step reads only the last block", () => {
  const growing = new GrowingMarkdown();
  const block = "A line of some forty letters in a block.\n\n";
  let text = "";
  let longest = 0;
  for (let i = 0; i < 500; i++) {
    text += block;
    longest = Math.max(longest, growing.grow(text).tail.length);
  }
  assert.ok(longest < 3 * block.length, `the tail grew to ${longest} letters`);
});
