// SPDX-License-Identifier: MIT
import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { test } from "node:test";
import de from "../language/de.ts";
import zhHans from "../language/zh-hans.ts";
import { examples, type Made, parseRule, ruleOf } from "./parserule.ts";

const folder = new URL("../../../plugins/script/gallery/", import.meta.url);
const script = (name: string, config?: Record<string, unknown>) => ({
  kind: "script",
  script: name,
  ...(config && { config }),
});
const regex = (text: string) => ({ kind: "format", format: { kind: "regex", text } });

for (const [text, want] of [
  ["never say frog", script("ban-phrases", { phrases: ["frog"] })],
  [
    "Don’t mention “Paris”, London or New York.",
    script("ban-phrases", { phrases: ["paris", "london", "new york"] }),
  ],
  ["At most 3 sentences", script("sentences", { sentences: 3 })],
  ["no more than two sentences.", script("sentences", { sentences: 2 })],
  ["at most 20 words", regex("\\S+([ \\n]\\S+){0,19}")],
  ["an ISO date", regex("\\d{4}-(0[1-9]|1[0-2])-(0[1-9]|[12]\\d|3[01])")],
  ["yes or no", regex("Yes|No")],
  ["one of: C++, Go (1.25)", regex("C\\+\\+|Go \\(1\\.25\\)")],
  ["without the letter E", script("lipogram", { letter: "e" })],
  [
    "a list of 2 points",
    { kind: "format", format: { kind: "grammar", text: 'root ::= item item\nitem ::= "- " [^\\n]+ "\\n"' } },
  ],
  ["at most 5000 words", undefined],
  ["one of: red", undefined],
  ["be kind", undefined],
  [
    "nie „Paris“, London oder New York erwähnen.",
    script("ban-phrases", { phrases: ["paris", "london", "new york"] }),
  ],
  ["Höchstens zwei Sätze", script("sentences", { sentences: 2 })],
  ["nicht mehr als 20 Wörter", regex("\\S+([ \\n]\\S+){0,19}")],
  ["nicht mehr als 5000 Wörter", undefined],
  ["ja oder nein", regex("Ja|Nein")],
  ["eins von: rot, grün oder blau", regex("rot|grün|blau")],
  ["ohne den Buchstaben ß", script("lipogram", { letter: "ß" })],
  ["nur griechische Buchstaben", script("one-alphabet", { script: "Greek" })],
  ["不要说“青蛙”、蟾蜍。", script("ban-phrases", { phrases: ["青蛙", "蟾蜍"] })],
  ["最多两句话", script("sentences", { sentences: 2 })],
  ["不超过 20 个字", regex(".{1,20}")],
  ["是或否", regex("是|否")],
  ["以下之一：红、绿、蓝", regex("红|绿|蓝")],
  ["只用汉字", script("one-alphabet", { script: "Han" })],
  ["要友善", undefined],
  ["", undefined],
] as const)
  test(`parseRule: ${JSON.stringify(text)}`, () => assert.deepEqual(parseRule(text), want));

test("parseRule: fields become a schema that requires them", () => {
  const made = parseRule("JSON with name, age (number) and tags (a list)") as Extract<
    Made,
    { kind: "format" }
  >;
  const schema = JSON.parse(made.format.text);
  assert.deepEqual(schema.required, ["name", "age", "tags"]);
  assert.equal(schema.properties.age.type, "number");
  assert.equal(schema.properties.tags.type, "array");
  for (const text of [
    "JSON mit Name, Alter (Zahl) und Tags (eine Liste)",
    "JSON，包含 姓名、年龄（数字）、标签（列表）",
  ]) {
    const { format } = parseRule(text) as typeof made;
    const { properties } = JSON.parse(format.text);
    assert.deepEqual(
      Object.values(properties).map((field) => (field as { type: string }).type),
      ["string", "number", "array"],
    );
  }
  for (const type of ["years", "constructor"])
    assert.equal(parseRule(`JSON with age (${type})`), undefined, type);
});

test("parseRule: each example is understood in each language, and its script is in the gallery", () => {
  for (const example of examples.flatMap((text) => [
    text,
    ...[de, zhHans].map((table) => inTable(table, text)),
  ])) {
    const made = parseRule(example);
    assert.ok(made, example);
    if (made.kind === "script") assert.ok(existsSync(new URL(`${made.script}.js`, folder)), example);
  }
});

function inTable(table: Readonly<Record<string, unknown>>, text: string): string {
  return String(table[text]);
}

test("ruleOf: a rule is on, and has the source of its script", () => {
  const made = parseRule("never say frog");
  assert.ok(made);
  assert.deepEqual(
    ruleOf(" never say frog ", made, (name) => `source of ${name}`),
    { text: "never say frog", on: true, source: "source of ban-phrases", config: { phrases: ["frog"] } },
  );
});
