// SPDX-License-Identifier: MIT
import assert from "node:assert/strict";
import { test } from "node:test";
import { checkValue, problemsOf } from "./schemacheck.ts";
import { patternProblem, quick } from "./schemapattern.ts";

const cases: [string, unknown, unknown, string[]][] = [
  ["no schema", undefined, { a: 1 }, []],
  ["a text", { type: "string" }, 7, ["It must be a text."]],
  ["one of two types", { type: ["number", "null"] }, "x", ["It must be a number or null."]],
  ["null where it may be", { type: ["number", "null"] }, null, []],
  ["a whole number", { type: "integer" }, 1.5, ["It must be a whole number."]],
  ["what was typed is no number", { type: "number" }, "1..5", ["It must be a number."]],
  ["too low", { minimum: 2 }, 1, ["It must be at least 2."]],
  ["too high", { maximum: 2 }, 3, ["It must be at most 2."]],
  ["at an excluded limit", { exclusiveMinimum: 0 }, 0, ["It must be above 0."]],
  ["at the other", { exclusiveMaximum: 1 }, 1, ["It must be below 1."]],
  ["no multiple", { multipleOf: 0.1 }, 0.25, ["It must be a multiple of 0.1."]],
  ["a multiple with rounding", { multipleOf: 0.1 }, 0.3, []],
  ["an empty text", { minLength: 1 }, "", ["It must not be empty."]],
  ["characters, not code units", { maxLength: 2 }, "🐸🐸", []],
  ["a long text", { maxLength: 2 }, "abc", ["It may have at most 2 characters."]],
  ["a pattern", { pattern: "^a" }, "b", ["It must match ^a"]],
  ["an enum", { enum: ["a", 1] }, "c", ['It must be one of "a", 1.']],
  ["an enum of objects", { enum: [{ a: 1, b: 2 }] }, { b: 2, a: 1 }, []],
  ["a const", { const: "v1" }, "v2", ['It must be "v1".']],
  ["a short list", { minItems: 1 }, [], ["It needs at least 1 entry."]],
  ["a long list", { maxItems: 2 }, [1, 2, 3], ["It may have at most 2 entries."]],
  [
    "a list with a double",
    { uniqueItems: true },
    [{ a: 1 }, { a: 1 }],
    ["Each entry may stand in it only once."],
  ],
  ["an entry", { items: { type: "string" } }, ["a", 1], ["[1]: It must be a text."]],
  [
    "first entries",
    { prefixItems: [{ type: "string" }], items: { type: "number" } },
    [1, 2],
    ["[0]: It must be a text."],
  ],
  ["what is needed", { required: ["a"] }, {}, ["Fill in a."]],
  ["an inherited name is not set", { required: ["toString"] }, {}, ["Fill in toString."]],
  [
    "a field",
    { properties: { a: { items: { type: "number" } } } },
    { a: [1, "x"] },
    ["a[1]: It must be a number."],
  ],
  ["an unknown field", { additionalProperties: false }, { b: 1 }, ["b: There is no field of this name."]],
  ["a free field", { additionalProperties: { type: "string" } }, { b: 1 }, ["b: It must be a text."]],
  ["any of", { anyOf: [{ type: "string" }, { minimum: 5 }] }, 1, ["It fits none of the allowed forms."]],
  [
    "one of",
    { oneOf: [{ minimum: 1 }, { minimum: 2 }] },
    3,
    ["It must fit exactly one of the allowed forms."],
  ],
  ["all of", { allOf: [{ minimum: 1 }, { maximum: 2 }] }, 3, ["It must be at most 2."]],
  ["not", { not: { const: 3 } }, 3, ["This is not allowed."]],
  [
    "a reference",
    { $defs: { n: { type: "number" } }, properties: { a: { $ref: "#/$defs/n" } } },
    { a: "x" },
    ["a: It must be a number."],
  ],
  ["keywords of the wrong kind", { required: "a", properties: 7, items: "x", minimum: "1" }, { a: 1 }, []],
];
for (const [name, schema, value, want] of cases) {
  test(`problemsOf: ${name}`, () => assert.deepEqual(problemsOf(schema, value), want));
}

test("checkValue: a schema that refers to itself ends", () => {
  assert.deepEqual(checkValue({ $ref: "#" }, 1), []);
  assert.deepEqual(checkValue({ allOf: [{ $ref: "#" }, { $ref: "#" }] }, 1), []);
});

test("quick: what could take long is left to the host", () => {
  for (const pattern of ["(a+)+$", "(a|aa)*$", "a*a*a*a*a*$", "a?a?a?a?aaaa", "(a{1,9}){9}"])
    assert.equal(quick(pattern, 10), false, pattern);
  for (const pattern of ["^[a-z]+$", "\\)*", "^[*+?]x{2}$"]) assert.equal(quick(pattern, 100), true, pattern);
  assert.equal(patternProblem("(a+)+$", `${"a".repeat(60)}!`), undefined);
  assert.equal(patternProblem(".*.*.*x", "a".repeat(1000)), undefined); // the browser would take minutes
  assert.equal(patternProblem("^[a-z]+$", `${"a".repeat(1000)}!`.slice(1)), "It must match ^[a-z]+$");
  assert.equal(patternProblem("(?P<go>x", "y"), undefined); // Go's syntax, not the browser's
});
