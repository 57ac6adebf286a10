// SPDX-License-Identifier: MIT
import assert from "node:assert/strict";
import { test } from "node:test";
import { type FinalPart, GrowingMarkdown, type Links } from "./growingmarkdown.ts";
import { markdown, renderMarkdown } from "./markdown.ts";

const every = `# Title

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

/** Puts parts together as the page does, in HTML. */
class Assembly {
  html = "";
  private code: string | undefined;

  add(part: FinalPart): void {
    if (part.kind === "block") this.html += part.html;
    else if (part.kind === "code") this.code = (this.code ?? "") + part.text;
    else if (part.kind === "end") this.into("</code>", markdown.utils.escapeHtml(this.code ?? ""));
    else if (part.html.includes("<tr")) this.into("</tbody>", between(part.html, "<tbody>", "</tbody>"));
    else this.into(part.html.startsWith("<ol") ? "</ol>" : "</ul>", between(part.html, ">", /<\/[ou]l>\n$/));
    if (part.kind === "end") this.code = undefined;
  }

  private into(end: string, html: string): void {
    const at = this.html.lastIndexOf(end);
    assert.ok(at > 0, `there is no ${end} to go on before`);
    this.html = this.html.slice(0, at) + html + this.html.slice(at);
  }
}

function between(html: string, from: string, to: string | RegExp): string {
  const inner = html.slice(html.indexOf(from) + from.length).replace(/^\n/, "");
  return inner.slice(0, inner.search(to));
}

/** Lets text grow by step letters at a time; longest is the longest tail. */
function grown(text: string, step: number, links?: Links) {
  const growing = new GrowingMarkdown(links);
  const page = new Assembly();
  let longest = 0;
  for (let end = step; end < text.length + step; end += step) {
    const { settled, tail } = growing.grow(text.slice(0, end));
    settled.forEach((part) => void page.add(part));
    longest = Math.max(longest, tail.length);
  }
  growing.grow(text, true).settled.forEach((part) => void page.add(part));
  return { html: page.html, longest, growing };
}

const words = (html: string) => html.replace(/<div class="head">.*?<\/div>|<[^>]*>/g, "").replace(/\s+/g, "");

for (const step of [1, 3, 7, 50]) {
  test(`GrowingMarkdown.grow: ${step} letters at a time end as the whole text at once`, () => {
    const { html, longest } = grown(every, step);
    assert.equal(html, renderMarkdown(every));
    assert.ok(longest < 400, "settled blocks were drawn again");
  });
}

test("GrowingMarkdown.grow: line ends of Windows, the same text twice, and the end twice", () => {
  const text = "one\r\n\r\ntwo\r\n\r\nthree\r\n";
  assert.equal(grown(text, 4).html, renderMarkdown(text));
  assert.equal(grown(text, text.length).html, renderMarkdown(text));
  const { growing } = grown(text, 4);
  assert.deepEqual(growing.grow(text, true), { settled: [], tail: "", joins: false });
});

for (const [name, text] of [
  ["closed", "```js\na\n\n````\nb\n"],
  ["open", "  ~~~\n  a\n   b\n``\n~~\n"],
  ["with ticks in it", "````\n```\nx\n```\n````\n\nafter"],
  ["empty", "```\n```\n"],
  ["without its first line's end", "```js"],
] as const) {
  test(`GrowingMarkdown.grow: a fence ${name} is settled line by line`, () => {
    for (const step of [1, 2, 5, 100]) assert.equal(grown(text, step).html, renderMarkdown(text));
  });
}

const many = (n: number, line: (i: number) => string) =>
  Array.from({ length: n }, (_, i) => line(i + 1)).join("");

for (const [name, text, bound] of [
  ["blocks", many(2000, (i) => `Line ${i} of some forty letters in a block.\n\n`), 200],
  ["code", `\`\`\`\n${many(5000, (i) => `line ${i};\n`)}`, 0],
  ["a list", many(2000, (i) => `${i}. item **${i}** of many\n`), 40_000],
  ["a list of ones", many(2000, (i) => `1. item ${i} of many\n`), 40_000],
  ["a nested list", many(1000, (i) => `- item ${i}\n  - and ${i}\n`), 40_000],
  ["a table", `| a | b |\n|---|---|\n${many(2000, (i) => `| ${i} | cell |\n`)}`, 60_000],
] as const) {
  test(`GrowingMarkdown.grow: of ${name} without an end only the end is drawn again`, () => {
    const { html, longest } = grown(text, 997);
    assert.ok(longest <= bound, `the tail grew to ${longest} letters`);
    if (name !== "a table") assert.equal(html, renderMarkdown(text));
    else assert.equal(html.match(/<td>cell/g)?.length, 2000);
  });
}

for (const [name, text] of [
  ["a megabyte without a space", "x".repeat(1 << 20)],
  ["a paragraph of many words", "word # and - more ".repeat(5000)],
  ["one table row", `| a |\n|---|\n| ${"x".repeat(100_000)} |`],
  ["one list item", `- ${"x y ".repeat(30_000)}`],
  ["quotes", `> ${"quoted ".repeat(20_000)}`],
  ["deep quotes", `${">".repeat(5000)} deep`],
  ["deep lists", many(300, (i) => `${"  ".repeat(i)}- x\n`)],
  ["emphasis", "*a **b ".repeat(20_000)],
  ["brackets", "[".repeat(50_000)],
  ["links", "[a](".repeat(20_000)],
  ["ticks", many(600, (i) => `${"`".repeat(i)}x `)],
  ["dollars", "$a ".repeat(30_000)],
  ["surrogates", "\u{1F438}".repeat(30_000)],
] as const) {
  test(`GrowingMarkdown.grow: hostile: ${name} keeps its text, in small steps`, () => {
    const { html, longest } = grown(text, 4096);
    assert.ok(longest < 400_000, `the tail grew to ${longest} letters`);
    assert.ok(!html.includes("\ufffd"));
    const marks = /[>|*`\s-]|&gt;/g;
    assert.equal(words(html).replace(marks, "").length, text.replace(marks, "").length);
  });
}

test("GrowingMarkdown.grow: links that are defined later are known to a second reading", () => {
  const text = "See [the manual][m].\n\nMore.\n\n[m]: https://example.org/manual\n";
  const first = grown(text, 3);
  assert.doesNotMatch(first.html, /<a/);
  assert.equal(grown(text, 3, first.growing.links).html, renderMarkdown(text));
});
