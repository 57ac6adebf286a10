// SPDX-License-Identifier: MIT

// Sounds from where a person has them to what is sent. The test answers in the host's place.
import assert from "node:assert/strict";
import { test } from "node:test";
import type { BrowserContextOptions, Page } from "playwright-core";
import { patience, useBrowser } from "./browser.ts";
import { choose, wav } from "./media.ts";
import { openPerceiving, type Told } from "./perceiving.ts";
import { useServer } from "./server.ts";

useBrowser();
const server = useServer();

const open = (told?: Told, options?: BrowserContextOptions) => openPerceiving(server, told, options);

test("Page: sounds are chosen, made small, sent and played", { timeout: 3 * patience }, async () => {
  const { chat, files, asked } = await open();
  const { page } = chat;
  const short = { name: "short.wav", mimeType: "audio/wav", buffer: wav(0.5) };
  const long = { name: "long.wav", mimeType: "audio/wav", buffer: wav(8, 44_100, 2) };
  await choose(page, "Sounds", [short, long]);
  await page.getByLabel("long.wav", { exact: true }).waitFor();
  await page.getByText("500 ms").waitFor();
  await chat.ask("What?");
  await chat.finished();
  const [first, second] = [...files.values()];
  assert.deepEqual(first, short.buffer);
  assert.equal(second?.readUInt32LE(24), 16_000);
  assert.ok(Math.abs((second?.length ?? 0) - (44 + 8 * 32_000)) < 64, `it has ${second?.length} bytes`);
  const data = [...files.keys()].map((name) => ({
    type: "input_audio",
    input_audio: { data: `frame:${name}` },
  }));
  assert.deepEqual(asked[0], [[...data, { type: "text", text: "What?" }]]);
  const player = page.getByRole("region", { name: "Your message" }).getByLabel("short.wav", { exact: true });
  const length = await player.evaluate(async (element) => {
    const audio = element as HTMLAudioElement;
    audio.muted = true;
    await audio.play();
    return audio.duration;
  });
  assert.ok(Math.abs(length - 0.5) < 0.01, `it lasts ${length} s`);
  assert.deepEqual(chat.complaints, []);
});

test("Page: a sound is recorded where the page may, and else it is said why not", {
  timeout: 3 * patience,
}, async () => {
  const { chat, files } = await open({}, { permissions: ["microphone"] });
  const { page } = chat;
  const record = async (on: Page) => {
    await on.getByRole("button", { name: "Add files" }).click();
    await on.getByRole("menuitem", { name: "Record a sound" }).click();
  };
  await record(page);
  const recorder = page.getByRole("region", { name: "Recording" });
  await recorder.getByText(/^(?!0:00)\d+:\d\d$/).waitFor();
  await page.keyboard.press("Enter"); // the button that adds it has the focus
  await page
    .getByRole("listitem")
    .getByText(/^Recording of \d\d:\d\d/)
    .waitFor();
  await chat.ask("What was that?");
  await chat.finished();
  const [sound] = files.values();
  assert.equal(sound?.subarray(8, 12).toString(), "WAVE");
  assert.ok((sound?.length ?? 0) > 16_000, `it has ${sound?.length} bytes`);
  await record(page);
  await recorder.getByRole("button", { name: "Discard" }).click();
  await recorder.waitFor({ state: "detached" });

  const mute = await open();
  await mute.chat.page.context().clearPermissions();
  await mute.chat.page.evaluate(() => {
    navigator.mediaDevices.getUserMedia = () => Promise.reject(new DOMException("no", "NotAllowedError"));
  });
  await record(mute.chat.page);
  await mute.chat.page.getByRole("alert").getByText("This page may not use the microphone.").waitFor();
  await mute.chat.page.evaluate(() => {
    Object.defineProperty(navigator, "mediaDevices", { value: undefined });
  });
  await record(mute.chat.page);
  await mute.chat.page.getByRole("alert").getByText("over HTTPS or at localhost").waitFor();
  for (const one of [chat, mute.chat]) {
    assert.deepEqual(one.complaints, []);
    await one.close();
  }
});
