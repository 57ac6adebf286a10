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
  [
    "an attribute of a harmless tag",
    '<sub onclick="alert(1)">a</sub> <details ontoggle="alert(2)" open>\n\nx',
  ],
  ["a tag in a harmless tag", "<sup><img src=x onerror=alert(1)></sup>"],
  ["a tag in a summary", "<details>\n<summary><img src=x onerror=alert(1)></summary>\n\nx\n</details>"],
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

for (const [text, want] of [
  ["H<sub>2</sub>O, x<SUP>*n*</SUP>", "<p>H<sub>2</sub>O, x<sup><em>n</em></sup></p>"],
  ["Press <kbd>Ctrl</kbd>+<kbd>`K`</kbd>", "<p>Press <kbd>Ctrl</kbd>+<kbd><code>K</code></kbd></p>"],
  ["one<br>two<br/>three `<br>`", "<p>one<br>\ntwo<br>\nthree <code>&lt;br&gt;</code></p>"],
  ["a <sub>never ends", "<p>a &lt;sub&gt;never ends</p>"],
  ["\\<sub>a</sub>", "<p>&lt;sub&gt;a&lt;/sub&gt;</p>"],
] as const) {
  test(`renderMarkdown: ${text}`, () => assert.equal(renderMarkdown(text).trim(), want));
}

test("renderMarkdown: what is folded away has its summary, and Markdown in both", () => {
  const inner =
    "<details>\n<summary>*More*</summary>\n\n- one\n\n<details>\n\ntwo\n\n</details>\n\n</details>\n\nafter";
  const html = renderMarkdown(inner).replace(/\s*\n\s*/g, "");
  assert.match(
    html,
    /^<details><summary><em>More<\/em><\/summary><ul dir="auto"><li>one<\/li><\/ul><details><summary>Details<\/summary><p>two<\/p><\/details><\/details><p>after<\/p>$/,
  );
  assert.match(renderMarkdown("<details>\n\nno end"), /<details>[\s\S]*no end[\s\S]*<\/details>\s*$/);
  assert.equal(renderMarkdown("<details>\n".repeat(5000)).length > 0, true);
});

for (const [text, bold] of [
  ["**「文」**の意味", "「文」"],
  ["これは**“重要”**です", "“重要”"],
  ["这是**重要。**然后", "重要。"],
  ["한국어**(강조)**입니다", "(강조)"],
] as const) {
  test(`renderMarkdown: ${text}`, () =>
    assert.match(renderMarkdown(text), new RegExp(`<strong>${bold.replace(/[()]/g, "\\$&")}</strong>`)));
}

test("renderMarkdown: of a picture within the text only the name is shown", () => {
  for (const end of [")", ""]) {
    const html = renderMarkdown(`See ![a chart](data:image/png;base64,${"A".repeat(1000)}${end}`);
    assert.match(html, /^<p>See a chart \(data, not shown\)<\/p>$/m);
  }
});

test("renderMarkdown: what does not end takes no time that grows with the square of its length", () => {
  const folded = `<details>${" ".repeat(300_000)}x`;
  assert.match(renderMarkdown(folded), /^<p>&lt;details&gt; +x<\/p>$/m);
  assert.match(renderMarkdown(`${"[x](data:".repeat(40_000)} end`), / end<\/p>$/m);
});

test("renderMarkdown: marks beside spaces are no emphasis", () => {
  assert.doesNotMatch(renderMarkdown("三 * 四 * 五, 2 * 3 * 4"), /<em>/);
});

test("renderMarkdown: controls of direction are shown by their names, in text and in code", () => {
  const html = renderMarkdown("a\u202Eb `c\u2066d`\n\n```\ne\u2069\n```");
  assert.doesNotMatch(html, /[\u202A-\u202E\u2066-\u2069]/);
  assert.equal(html.match(/data-name="U\+(202E|2066|2069)"/g)?.length, 3);
});
