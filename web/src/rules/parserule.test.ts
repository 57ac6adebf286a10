// SPDX-License-Identifier: MIT
import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { test } from "node:test";
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
  for (const type of ["years", "constructor"])
    assert.equal(parseRule(`JSON with age (${type})`), undefined, type);
});

test("parseRule: each example is understood, and its script is in the gallery", () => {
  for (const example of examples) {
    const made = parseRule(example);
    assert.ok(made, example);
    if (made.kind === "script") assert.ok(existsSync(new URL(`${made.script}.js`, folder)), example);
  }
});

test("ruleOf: a rule is on, and has the source of its script", () => {
  const made = parseRule("never say frog");
  assert.ok(made);
  assert.deepEqual(
    ruleOf(" never say frog ", made, (name) => `source of ${name}`),
    { text: "never say frog", on: true, source: "source of ban-phrases", config: { phrases: ["frog"] } },
  );
});
