// SPDX-License-Identifier: MIT

// Where the inspector begins, what its bars say, and the words of the page.
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Page } from "playwright-core";
import { chosen, drawnCat, left, stage } from "../src/trace/sampletraces.ts";
import { ChatPage, patience, useBrowser } from "./browser.ts";
import { play } from "./play.ts";
import { useServer } from "./server.ts";
import { devices, sizes } from "./sizes.ts";
import { some } from "./steady.ts";

useBrowser();
const server = useServer();

const sure = chosen(
  " the",
  left(1000, { " the": 0.9, " a": 0.1 }, [1, 0.9]),
  stage("dist", 0.02, left(1, { " the": 1 }, [1, 1])),
);

for (const [size, options] of Object.entries(sizes)) {
  test(`Inspector: opens on the most surprising token, with bars on one scale and the draw in sight (${size})`, {
    timeout: 3 * patience,
  }, async () => {
    const chat = await ChatPage.open(server.url, options, (page) =>
      play(page, (stream) => {
        for (const trace of [sure, sure, drawnCat(), sure]) stream.token(trace.token, trace);
        stream.end();
      }),
    );
    const { page } = chat;
    await chat.ask("Anything.");
    await (await chat.finished()).getByRole("button", { name: "Inspect" }).press("Enter");
    const detail = page.getByRole("region", { name: "The token in focus" });
    await detail.getByText("token 3 of 4").waitFor();
    const bars = await detail.locator("tbody td:has(.track)").evaluateAll((cells) =>
      cells.map((cell) => {
        const [track, bar] = [cell.querySelector(".track"), cell.querySelector(".track > span")];
        const share = (bar?.getBoundingClientRect().width ?? 0) / (track?.getBoundingClientRect().width ?? 1);
        return { share, p: Number.parseFloat(cell.querySelector(".p")?.textContent ?? "") / 100 };
      }),
    );
    assert.ok(bars.length >= 8, `${bars.length} bars`);
    for (const { share, p } of bars) assert.ok(Math.abs(share - p) < 0.03, `a bar of ${share} for ${p}`);
    const last = detail.getByRole("columnheader", { name: /^random draw/ });
    const [box, around] = [await last.boundingBox(), await detail.boundingBox()];
    assert.ok(
      box !== null && around !== null && box.x + box.width <= around.x + around.width + 1,
      "the last column falls off",
    );
    assert.deepEqual(chat.complaints, []);
  });
}

// Slots and ticks have these names alone, as in the API, in metrics and in llama-server's pages, so
// that they can be looked up; the live view says in a line what each is.
const forbidden = /\b(Places?|Steps?|KV cache|host|dist|Hold|Fresh words|Top-K)\b/;
// Experts find the field's own terms where each has a line of explanation.
const explained = /\(KV cache\)|\(forward pass\)/g;

async function wordsOf(page: Page): Promise<string> {
  const all = await page.evaluate(() =>
    [
      document.body.innerText,
      ...[...document.querySelectorAll("[title], [aria-label], [placeholder]")].map((element) =>
        ["title", "aria-label", "placeholder"].map((name) => element.getAttribute(name) ?? "").join("\n"),
      ),
    ].join("\n"),
  );
  return all.replace(explained, "");
}

for (const [size, options] of some(devices, 1)) {
  test(`Page: speaks its readers' words (${size})`, { timeout: 3 * patience }, async () => {
    const chat = await ChatPage.open(server.url, options);
    const { page } = chat;
    await chat.online();
    const check = async (view: string) => assert.doesNotMatch(await wordsOf(page), forbidden, view);
    await check("welcome");
    await page.getByRole("button", { name: "Settings", exact: true }).click();
    await page.getByRole("heading", { name: "Advanced" }).click();
    await page.getByRole("heading", { name: "Sampler chain" }).waitFor();
    await check("settings");
    for (const [view, seen] of [
      ["models", "A question loads"],
      ["live", "Slots"],
      ["plugins", "Sandboxed"],
    ] as const) {
      await page.goto(`${server.url}/#/${view}`);
      await page.getByText(seen).first().waitFor();
      await check(view);
    }
  });
}
