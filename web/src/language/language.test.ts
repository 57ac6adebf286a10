// SPDX-License-Identifier: MIT
import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { join, relative } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { galleryScript } from "../scripts/gallery.ts";
import { findTexts, type Text } from "./findtexts.ts";
import { languages, list, type Table, t, tn, tx } from "./language.ts";

const source = fileURLToPath(new URL("..", import.meta.url));

const texts: Text[] = [];
const untranslated: string[] = [];
for (const path of readdirSync(source, { recursive: true, encoding: "utf8" }).sort()) {
  if (!/\.tsx?$/.test(path) || /\.test\.ts$/.test(path) || path.startsWith("language")) continue;
  const found = findTexts(join(source, path), readFileSync(join(source, path), "utf8"));
  texts.push(...found.texts);
  untranslated.push(
    ...found.problems.map((problem) => `src/${relative(source, join(source, path))}:${problem}`),
  );
}

// The page shows what the scripts of the gallery say of themselves.
const gallery = fileURLToPath(new URL("../../../plugins/script/gallery/", import.meta.url));
for (const file of readdirSync(gallery).filter((name) => name.endsWith(".js")))
  texts.push({ key: galleryScript(file, readFileSync(join(gallery, file), "utf8")).summary, counted: false });

const tables = new Map<string, Table>();
for (const name of Object.keys(languages).filter((name) => name !== "en"))
  tables.set(name, (await import(`./${name.toLowerCase()}.ts`)).default);

test("Texts: what the page says is in the tables", () => {
  assert.deepEqual(untranslated, [], `wrap these in t(), or say why not: // untranslated: ...`);
});

test("Texts: each language has all, and no other", () => {
  const keys = [...new Set(texts.map(({ key }) => key))].sort();
  assert.ok(keys.length > 0);
  for (const [name, table] of tables) {
    const lacking = keys.filter((key) => !Object.hasOwn(table, key));
    const unused = Object.keys(table).filter((key) => !keys.includes(key));
    assert.deepEqual({ name, lacking, unused }, { name, lacking: [], unused: [] });
  }
});

test("Texts: translations have the values and the plurals of the text", () => {
  const valuesOf = (text: string) => [...new Set([...text.matchAll(/\{\w+\}/g)].map(String))].sort();
  for (const [name, table] of tables) {
    const plurals = new Intl.PluralRules(name).resolvedOptions().pluralCategories.length;
    for (const { key, counted } of texts) {
      const translated = table[key];
      const forms = typeof translated === "string" ? [translated] : (translated ?? []);
      assert.equal(typeof translated === "object", counted, `${name}: ${key}`);
      if (counted) assert.equal(forms.length, plurals, `${name}: ${key}`);
      for (const form of forms) {
        const values = valuesOf(form).filter((value) => !counted || value !== "{n}");
        const wanted = valuesOf(key).filter((value) => !counted || value !== "{n}");
        assert.deepEqual(values, wanted, `${name}: ${key}`);
        assert.ok(form.trim() !== "", `${name}: ${key}`);
      }
    }
  }
});

test("Texts: values, plurals, elements and lists of the code's own language", () => {
  assert.equal(
    t("{who} has {many} tokens, {what}", { who: "It", many: 1234 }),
    "It has 1,234 tokens, {what}",
  );
  assert.equal(t("verb|Open"), "Open");
  assert.equal(tn(1, "{n} token", "{n} tokens"), "1 token");
  assert.equal(tn(2000, "{n} token", "{n} tokens"), "2,000 tokens");
  assert.deepEqual(tx("{name} answers.", { name: 7 }), ["", 7, " answers."]);
  assert.deepEqual([[], ["a"], ["a", "b"], ["a", "b", "c"]].map(list), ["", "a", "a and b", "a, b and c"]);
});
