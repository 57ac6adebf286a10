// SPDX-License-Identifier: MIT

// What the page says of an answer that has no token yet, and how fast one is that is written.
import assert from "node:assert/strict";
import { test } from "node:test";
import type { ClientFrame } from "../src/host/protocol.ts";
import type { LiveModel } from "../src/live/liveframe.ts";
import { ChatPage, long, patience, useBrowser } from "./browser.ts";
import { type PlayedStream, play } from "./play.ts";
import { useServer } from "./server.ts";
import { phone } from "./sizes.ts";

useBrowser();
const server = useServer({ context: 60_000, flags: ["--parallel", "1"] });

const ticks = { first: 1, left_out: 0, at_ms: [], decode: [], prefill: [], passes: [] };
const idle: LiveModel = {
  name: "played",
  state: "loaded",
  waiting_for_load: 0,
  slots: [],
  queue: { waiting: 0, for: {}, own: [] },
  cells: { total: 1, used: 0, cached: 0 },
  ticks: { ...ticks, forward_ms: [], sample_ms: [], plugin_ms: [], total_ms: [] },
  itl: { up_to_ms: [], counts: [0], sum_ms: 0 },
  plugins: [],
};

test("Page: says what an answer waits for, then how fast it is", {
  timeout: 3 * patience,
}, async () => {
  let stream: PlayedStream | undefined;
  const watches: ClientFrame[] = [];
  const chat = await ChatPage.open(server.url, phone, (page) =>
    play(
      page,
      (played) => {
        stream = played;
      },
      (frame) => watches.push(frame),
    ),
  );
  const live = (time_ms: number, model: Partial<LiveModel>) =>
    stream?.frame({ type: "live", time_ms, models: [{ ...idle, ...model }] });
  await chat.ask("Go on.");
  await chat.page.getByText("Waiting for the server…").waitFor();
  const id = stream?.id ?? "";
  live(0, { state: "loading", waiting_for_load: 1 });
  await chat.page.getByText("Loading the model played…").waitFor();
  const queued = { id, place: 3, waits_for: "slot", prompt_tokens: 9000, age_ms: 1 };
  live(0, { queue: { waiting: 3, for: { slot: 3 }, own: [queued] } });
  await chat.page.getByText("In the queue: place 3").waitFor();
  const reading = (done: number) => ({
    slots: [{ slot: 0, state: "prefilling", id, prompt_tokens: 9000, prompt_done: done }],
  });
  live(1000, reading(0));
  live(3000, reading(3000));
  await chat.page.getByText("Reading the prompt: 3,000 of 9,000 tokens, about 4 s left").waitFor();
  const bar = chat.page.getByRole("progressbar", { name: "Reading the prompt" });
  assert.equal(await bar.getAttribute("value"), "3000");
  while (!watches.some((frame) => frame.type === "watch" && frame.every_ms > 0))
    await chat.page.waitForTimeout(50);
  const pace = setInterval(() => stream?.token("word "), 20);
  await chat.page.getByText(/\d tokens · [\d.]+ tokens\/s/).waitFor();
  clearInterval(pace);
  assert.equal(await bar.count(), 0);
  while (watches.at(-1)?.type !== "watch" || (watches.at(-1) as { every_ms: number }).every_ms !== 0)
    await chat.page.waitForTimeout(50);
  stream?.end();
  await chat.finished();
  assert.deepEqual(chat.complaints, []);
});

test("Page: a real server tells how far it has read a long prompt", { timeout: 3 * patience }, async () => {
  const chat = await ChatPage.open(server.url, {}, long(server, 8));
  await chat.ask("Once upon a time there was a frog. ".repeat(2000));
  await chat.page.getByText(/Reading the prompt: [\d,]+ of [\d,]+k? tokens/).waitFor();
  await chat.stop.click();
  await chat.finished();
  assert.deepEqual(chat.complaints, []);
});
