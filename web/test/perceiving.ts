// SPDX-License-Identifier: MIT

// A page whose host has a model that sees and hears: the test answers in the host's place.
import { createHash } from "node:crypto";
import type { BrowserContextOptions, Page } from "playwright-core";
import type { ContentPart } from "../src/host/protocol.ts";
import { ChatPage } from "./browser.ts";
import { type Picked, picture } from "./media.ts";
import { type PlayedStream, play } from "./play.ts";

export interface Sent {
  chat: ChatPage;
  files: Map<string, Buffer>; // by their names, as the host keeps them
  frames: string[]; // "file NAME" and "generate", in the order in which they came
  asked: (string | ContentPart[])[][]; // the contents of each request
}

/** What a model takes besides text. */
export interface Told {
  vision?: boolean;
  audio?: boolean;
}

/** A page whose host has one model, which sees and hears as told. */
export async function openPerceiving(
  server: { url: string },
  { vision = true, audio = true }: Told = {},
  options: BrowserContextOptions = {},
): Promise<Sent> {
  const files = new Map<string, Buffer>();
  const frames: string[] = [];
  const asked: Sent["asked"] = [];
  const answer = (stream: PlayedStream) => {
    frames.push("generate");
    asked.push(stream.request.messages.map(({ content }) => content));
    stream.token("I see.");
    stream.end();
  };
  const keep = (frame: Buffer) => {
    const name = frame.subarray(1, 1 + (frame[0] ?? 0)).toString();
    frames.push(`file ${name}`);
    files.set(name, frame.subarray(1 + name.length));
  };
  const chat = await ChatPage.open(server.url, options, async (page) => {
    await play(page, answer, () => {}, keep);
    await modalities(page, { vision, audio });
  });
  await chat.online();
  return { chat, files, frames, asked };
}

/** Has the host say that its model takes these besides text. */
export async function modalities(page: Page, told: { vision: boolean; audio: boolean }): Promise<void> {
  const input = ["text", ...(told.vision ? ["image"] : []), ...(told.audio ? ["audio"] : [])];
  await page.route(/\/v1\/models$/, async (route) => {
    const models = await (await route.fetch()).json();
    for (const model of models.data) model.architecture = { input_modalities: input };
    await route.fulfill({ json: models });
  });
}

export const hash = (bytes: Buffer) => createHash("sha256").update(bytes).digest("hex");
export const url = (file: Picked): ContentPart => ({
  type: "image_url",
  image_url: { url: `frame:${hash(file.buffer)}` },
});
export const red = picture("red.png", [200, 20, 20]);
export const blue = picture("blue.png", [20, 20, 200]);
