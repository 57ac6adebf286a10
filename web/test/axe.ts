// SPDX-License-Identifier: MIT
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import type { AxeResults } from "axe-core";
import type { Page } from "playwright-core";

const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

/** What axe finds wrong on the page, light and dark, as lines to read. */
export async function findings(page: Page): Promise<string[]> {
  await page.emulateMedia({ colorScheme: "light" });
  const light = await violations(page, "");
  await page.emulateMedia({ colorScheme: "dark" }); // in which only colours differ
  return [...light, ...(await violations(page, 'runOnly: ["color-contrast"]'))];
}

async function violations(page: Page, only: string): Promise<string[]> {
  // What fades or slides is looked at where it ends. What pulses has no end.
  await page.evaluate(() => {
    const ending = document
      .getAnimations()
      .filter((animation) => animation.effect?.getComputedTiming().endTime !== Number.POSITIVE_INFINITY);
    return Promise.allSettled(ending.map((animation) => animation.finished));
  });
  // As a text: the page's Content Security Policy allows no script from elsewhere.
  if (!(await page.evaluate('"axe" in window'))) await page.evaluate(axe);
  // What is as it should be is much, and nobody reads it.
  const run = `axe.run({ resultTypes: ["violations"], ${only} }).then(({ violations }) => violations)`;
  const found = (await page.evaluate(run)) as AxeResults["violations"];
  return found.flatMap(({ id, nodes }) => nodes.map((node) => `${id}: ${node.html.slice(0, 150)}`));
}
