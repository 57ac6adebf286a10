// SPDX-License-Identifier: MIT

// Compares what the page looks like with stored pictures, so that a broken card is seen before its
// users see it: views, cards and dialogs, in four sizes, light and dark. The pictures are a third as
// large as the page. npm run screens -- -update stores them anew; names after it store some.
import { mkdirSync, mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { BrowserContextOptions } from "playwright-core";
import { drawnCat } from "../src/trace/sampletraces.ts";
import { ChatPage, launch } from "./browser.ts";
import { type PlayedStream, play } from "./play.ts";
import { Server } from "./server.ts";
import { differingBlocks, webp } from "./webp.ts";

const scale = 1 / 3;
const most = 10; // of 255: a block that differs more on average is another picture
const allowed = 2; // such blocks, for what a browser draws a pixel to the side

const sizes: Record<string, BrowserContextOptions> = {
  wide: { viewport: { width: 1440, height: 900 } },
  laptop: { viewport: { width: 1280, height: 720 } },
  tablet: { viewport: { width: 820, height: 1180 }, hasTouch: true },
  phone: { viewport: { width: 390, height: 844 }, isMobile: true, hasTouch: true },
};

const markdown = `## Frogs

A frog is an **amphibian**, as \`Rana\` is[^1].

| Name | Size |
|------|-----:|
| Tree frog | 5 cm |
| Bullfrog | 20 cm |

\`\`\`python
def leap(frog): return frog.size * 20
\`\`\`

- H<sub>2</sub>O is *all* it needs

[^1]: The common frog.
`;

interface Scene {
  answer?: (stream: PlayedStream) => void;
  pair?: boolean; // with the built-in models, as after a first start; else several
  play(chat: ChatPage): Promise<unknown>; // until the picture is taken
}

/** An answer with a table and code, which has ended. */
function ended(stream: PlayedStream): void {
  stream.token(markdown);
  stream.end({
    usage: { prompt_tokens: 12, completion_tokens: 90 },
    timings: { predicted_per_second: 71.4, queued_ms: 0 },
  });
}

async function ask(chat: ChatPage): Promise<void> {
  await chat.ask("Tell me about frogs.");
  await chat.finished();
  await chat.page.locator(".hljs-keyword").first().waitFor();
}

async function openSettings({ page }: ChatPage): Promise<void> {
  await page.getByRole("button", { name: "Settings", exact: true }).click();
  await page.getByLabel("Instructions").waitFor();
}

const scenes: Record<string, Scene> = {
  welcome: {
    pair: true,
    play: (chat) => chat.page.locator(".pictured img").waitFor(),
  },
  chat: { answer: ended, play: ask },
  steering: {
    answer(stream) {
      for (const word of "Once upon a time there was a frog by a pond.".split(/(?= )/)) stream.token(word);
    },
    async play(chat) {
      await chat.ask("Tell me about frogs.");
      await chat.page.getByRole("button", { name: "Steer", exact: true }).click();
      await chat.page.getByRole("slider", { name: "Temperature" }).waitFor();
    },
  },
  problem: {
    answer: (stream) =>
      stream.end({
        reason: "error",
        error: {
          code: "context_length_exceeded",
          message: "request (40007 tokens) exceeds the available context size (15104 tokens)",
        },
      }),
    async play(chat) {
      await chat.ask("Tell me about frogs.");
      await chat.page.locator(".problem").waitFor();
    },
  },
  settings: { play: openSettings },
  advanced: {
    async play(chat) {
      await openSettings(chat);
      await chat.page.getByRole("heading", { name: "Advanced" }).click();
      await chat.page.getByRole("heading", { name: "Sampler chain" }).waitFor();
    },
  },
  inspector: {
    answer(stream) {
      const trace = drawnCat();
      stream.token(trace.token, trace);
      stream.end();
    },
    async play(chat) {
      await chat.ask("Which animal?");
      await (await chat.finished()).getByRole("button", { name: "Inspect" }).click();
      await chat.page.getByRole("region", { name: "Candidates" }).waitFor();
    },
  },
  models: {
    async play({ page }) {
      await page.evaluate(() => {
        location.hash = "#/models";
      });
      await page.getByRole("heading", { name: "pear" }).waitFor();
    },
  },
  adminkey: {
    async play({ page }) {
      await page.evaluate(() => {
        location.hash = "#/models";
      });
      await page.getByRole("button", { name: "Load pear" }).click();
      await page.getByRole("dialog", { name: "Admin key" }).waitFor();
    },
  },
  shortcuts: {
    async play({ page }) {
      await page.locator("#question").blur();
      await page.keyboard.press("?");
      await page.getByRole("dialog", { name: "Keyboard shortcuts" }).waitFor();
    },
  },
};

const folder = fileURLToPath(new URL("screens/", import.meta.url));
const [update, ...rest] = process.argv.slice(2);
const storing = update === "-update";
const named = [...(storing || update === undefined ? [] : [update]), ...rest];
const failures: string[] = [];
const failed = mkdtempSync(join(tmpdir(), "penstock-screens-"));
mkdirSync(folder, { recursive: true });

const browser = await launch();
const built = await Server.start({ pair: true });
const several = await Server.start({ models: ["apple", "pear"], flags: ["--admin-key", "secret"] });
try {
  const blank = await browser.newPage();
  for (const [name, scene] of Object.entries(scenes)) {
    if (named.length > 0 && !named.includes(name)) continue;
    for (const [size, device] of Object.entries(sizes))
      for (const colorScheme of ["light", "dark"] as const) {
        const options = { ...device, colorScheme, reducedMotion: "reduce" as const };
        const chat = await ChatPage.open(
          scene.pair ? built.url : several.url,
          options,
          async (page) => {
            if (scene.answer !== undefined) await play(page, scene.answer);
          },
          browser,
        );
        await chat.online();
        await scene.play(chat);
        await chat.page.evaluate(() => document.fonts.ready.then(() => {}));
        await chat.page.mouse.move(1, 1);
        const png = await chat.page.screenshot({ animations: "disabled", caret: "hide" });
        await chat.close();
        await look(`${name}-${size}-${colorScheme}.webp`, await webp(blank, png, scale));
      }
  }

  /** Stores a picture, or compares it with the one that is stored. */
  async function look(file: string, picture: Buffer): Promise<void> {
    if (storing) {
      writeFileSync(join(folder, file), picture);
      return;
    }
    const { differ, of } = await differingBlocks(blank, readFileSync(join(folder, file)), picture, most);
    if (differ <= allowed) return;
    writeFileSync(join(failed, file), picture);
    failures.push(`${file}: ${differ} of ${of} parts differ`);
  }
} finally {
  await browser.close();
  await built.stop();
  await several.stop();
}
if (failures.length > 0) {
  console.error(`${failures.join("\n")}\nThe new pictures are in ${failed}.`);
  process.exitCode = 1;
}
