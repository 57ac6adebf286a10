// SPDX-License-Identifier: MIT

// Writes the pictures of the page for the README and docs/page.md into docs/images, from the real
// host with the built-in model, or with one that the scene names: each scene in light and dark, on
// a desktop and on a phone. For some of them only: npm run screenshot -- inspector dark
import { copyFileSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { BrowserContextOptions } from "playwright-core";
import { ChatPage, launch, withSettings } from "./browser.ts";
import { scenes } from "./scenes.ts";
import { Server } from "./server.ts";
import { webp } from "./webp.ts";

const devices: Record<string, BrowserContextOptions> = {
  desktop: { viewport: { width: 1180, height: 820 }, deviceScaleFactor: 2 },
  phone: { viewport: { width: 360, height: 740 }, deviceScaleFactor: 2, isMobile: true, hasTouch: true },
};

const images = fileURLToPath(new URL("../../docs/images/", import.meta.url));
const models = fileURLToPath(new URL("../../build/models/", import.meta.url));
const built = fileURLToPath(new URL("../../build/plugins/", import.meta.url));
const examples = ["banned-phrases", "dynamic-temperature", "json-schema", "min-p", "regex-stop", "watermark"];

const wanted = process.argv.slice(2);

/** Those of a list that were asked for; all, if none was. */
function chosen(all: string[]): string[] {
  return wanted.some((word) => all.includes(word)) ? all.filter((one) => wanted.includes(one)) : all;
}

const plugins = mkdtempSync(join(tmpdir(), "penstock-pictures-"));
for (const name of examples) copyFileSync(join(built, `${name}.wasm`), join(plugins, `${name}.wasm`));
const browser = await launch();
try {
  for (const name of chosen(Object.keys(scenes))) {
    const scene = scenes[name];
    if (scene === undefined) continue;
    const model = scene.model ? ["--model", join(models, scene.model)] : ["--alias", "penstock-tiny"];
    const flags = ["--plugin-dir", plugins, "--admin-key", "secret", ...model];
    const server = await Server.start({ flags, ...(scene.context && { context: scene.context }) });
    try {
      for (const scheme of chosen(["light", "dark"]))
        for (const device of chosen(Object.keys(devices))) {
          const options = { ...devices[device], colorScheme: scheme === "dark" ? "dark" : "light" } as const;
          const chat = await ChatPage.open(server.url, options, withSettings(scene.settings), browser);
          await scene.play(chat, server.url);
          const png = await chat.page.screenshot();
          await chat.page.goto("about:blank"); // our Content-Security-Policy allows no images from data:
          const image = await webp(chat.page, png);
          await chat.close();
          const file = `${name}-${scheme}${device === "phone" ? "-phone" : ""}.webp`;
          writeFileSync(join(images, file), image);
          console.log(`${file}: ${Math.round(image.length / 1024)} KiB`);
        }
    } finally {
      await server.stop();
    }
  }
} finally {
  await browser.close();
  rmSync(plugins, { recursive: true });
}
