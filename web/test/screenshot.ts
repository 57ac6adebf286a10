// SPDX-License-Identifier: MIT

// Writes the pictures of the page for the README and docs/page.md into docs/images, from the real host with the built-in model:
// each scene in light and dark, on a desktop and on a phone. For some of them only: npm run screenshot -- inspector dark
import { copyFileSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Browser, BrowserContextOptions, Page } from "playwright-core";
import type { Settings } from "../src/settings/settings.ts";
import { ChatPage, launch, withSettings } from "./browser.ts";
import { Server } from "./server.ts";

interface Scene {
  settings: Partial<Settings>;
  play(chat: ChatPage): Promise<unknown>;
}

const story = "Tell me a story about a frog.";
const warm = { temperature: 0.6, seed: 7 };

const scenes: Record<string, Scene> = {
  chat: {
    settings: { sampling: warm },
    async play(chat) {
      for (const question of ["Write a Python function named square.", story]) {
        await chat.ask(question);
        await chat.finished();
      }
    },
  },
  inspector: {
    settings: {
      sampling: warm,
      plugins: [{ name: "banned-phrases", config: { phrases: ["frog"] } }],
      trace: true,
    },
    async play(chat) {
      await chat.ask(story);
      const answer = await chat.finished();
      await answer.getByRole("button", { name: "Inspect" }).click();
      await chat.page.getByRole("complementary", { name: "Inspector" }).waitFor();
    },
  },
  live: {
    settings: { sampling: { max_tokens: 20_000, ignore_eos: true, temperature: 1 } },
    async play(chat) {
      for (let chats = 0; chats < 4; chats++) {
        if (chats > 0) await chat.page.getByRole("button", { name: "New chat" }).first().click();
        await chat.ask(story);
        await chat.stop.waitFor();
      }
      await chat.page.evaluate(() => {
        location.hash = "#/live";
      });
      await chat.page.waitForTimeout(4000); // the charts fill
    },
  },
};

const devices: Record<string, BrowserContextOptions> = {
  desktop: { viewport: { width: 1180, height: 740 }, deviceScaleFactor: 2 },
  phone: {
    viewport: { width: 360, height: 740 },
    deviceScaleFactor: 2,
    isMobile: true,
    hasTouch: true,
  },
};

const images = fileURLToPath(new URL("../../docs/images/", import.meta.url));
const example = fileURLToPath(new URL("../../build/plugins/banned-phrases.wasm", import.meta.url));

/** The picture as WebP, which is several times smaller than PNG. Chromium has an encoder. */
async function webp(page: Page, png: Buffer): Promise<Buffer> {
  const url = await page.evaluate(async (base64) => {
    const image = new Image();
    image.src = `data:image/png;base64,${base64}`;
    await image.decode();
    const canvas = document.createElement("canvas");
    canvas.width = image.width;
    canvas.height = image.height;
    canvas.getContext("2d")?.drawImage(image, 0, 0);
    return canvas.toDataURL("image/webp", 0.9);
  }, png.toString("base64"));
  return Buffer.from(url.slice(url.indexOf(",") + 1), "base64");
}

async function picture(browser: Browser, url: string, name: string, scheme: string, device: string) {
  const scene = scenes[name];
  if (scene === undefined) throw new Error(`there is no scene ${name}`);
  const options = { ...devices[device], colorScheme: scheme === "dark" ? "dark" : "light" } as const;
  const chat = await ChatPage.open(browser, url, options, withSettings(scene.settings));
  await scene.play(chat);
  const png = await chat.page.screenshot();
  await chat.page.goto("about:blank"); // a page without our Content-Security-Policy, which allows no data: images
  const file = `${name}-${scheme}${device === "phone" ? "-phone" : ""}.webp`;
  const image = await webp(chat.page, png);
  writeFileSync(join(images, file), image);
  console.log(`${file}: ${Math.round(image.length / 1024)} KiB`);
  await chat.close();
}

const wanted = process.argv.slice(2);
const chosen = (all: string[]) =>
  wanted.some((word) => all.includes(word)) ? all.filter((one) => wanted.includes(one)) : all;

const plugins = mkdtempSync(join(tmpdir(), "penstock-pictures-"));
copyFileSync(example, join(plugins, "banned-phrases.wasm"));
mkdirSync(images, { recursive: true });
const server = await Server.start({ context: 32_000, flags: ["--plugin-dir", plugins] });
const browser = await launch();
try {
  for (const name of chosen(Object.keys(scenes)))
    for (const scheme of chosen(["light", "dark"]))
      for (const device of chosen(Object.keys(devices)))
        await picture(browser, server.url, name, scheme, device);
} finally {
  await browser.close();
  await server.stop();
  rmSync(plugins, { recursive: true });
}
