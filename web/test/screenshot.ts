// SPDX-License-Identifier: MIT

// Writes docs/images/chat.png, the README's picture of the page, from the real host. Other pictures, to look
// at while working on the styles: npm run screenshot -- FILE [light|dark] [desktop|phone].
import { fileURLToPath } from "node:url";
import { ChatPage, launch, withSettings } from "./browser.ts";
import { Server } from "./server.ts";

const [file, scheme, device] = process.argv.slice(2);
const path = file ?? fileURLToPath(new URL("../../docs/images/chat.png", import.meta.url));
const phone = { viewport: { width: 390, height: 780 }, isMobile: true, hasTouch: true };
const desktop = { viewport: { width: 1040, height: 680 } };

const server = await Server.start();
const browser = await launch();
try {
  const chat = await ChatPage.open(
    browser,
    server.url,
    {
      ...(device === "phone" ? phone : desktop),
      colorScheme: scheme === "dark" ? "dark" : "light",
      deviceScaleFactor: 2,
    },
    withSettings({ sampling: { temperature: 0.6, seed: 7 } }),
  );
  for (const question of ["Write a Python function named square.", "Tell me a story about a frog."]) {
    await chat.ask(question);
    await chat.finished();
  }
  await chat.page.screenshot({ path });
} finally {
  await browser.close();
  await server.stop();
}
