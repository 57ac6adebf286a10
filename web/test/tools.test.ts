// SPDX-License-Identifier: MIT

// Tools in the page: functions whose calls a person answers, and those of MCP servers, as of its
// official one for tests.
import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer as serveHTTP } from "node:http";
import { type AddressInfo, createServer } from "node:net";
import { Readable } from "node:stream";
import { test } from "node:test";
import type { BrowserContextOptions, Page } from "playwright-core";
import type { RequestMessage } from "../src/host/protocol.ts";
import { findings } from "./axe.ts";
import { ChatPage, patience, useBrowser } from "./browser.ts";
import { startEverything } from "./mcpserver.ts";
import { startGuarded } from "./oauthserver.ts";
import { type PlayedStream, play } from "./play.ts";
import { useServer } from "./server.ts";
import { sizes } from "./sizes.ts";

useBrowser();
const server = useServer();

/** A page whose host the test plays, with the tools of its chat open. */
async function openTools(streams: PlayedStream[], size: BrowserContextOptions = {}): Promise<ChatPage> {
  const chat = await ChatPage.open(server.url, size, (page) =>
    play(page, (stream) => void streams.push(stream)),
  );
  await chat.online();
  await chat.page.getByRole("button", { name: "Settings", exact: true }).click();
  await chat.page.locator("summary", { has: chat.page.getByRole("heading", { name: "Tools" }) }).click();
  return chat;
}

/** The stream with this number, once the page has asked for it. */
async function nth(page: Page, streams: readonly PlayedStream[], at: number): Promise<PlayedStream> {
  for (const end = Date.now() + patience; Date.now() < end; ) {
    const stream = streams[at];
    if (stream !== undefined) return stream;
    await page.evaluate(() => new Promise(requestAnimationFrame));
  }
  throw new Error(`the page has not asked ${at + 1} times`);
}

/** Nothing is wrong with what is shown, in either theme, and it is no wider than the window. */
async function looksRight({ page }: ChatPage): Promise<void> {
  assert.deepEqual(await findings(page), []);
  const wide = await page.evaluate(() =>
    [document.documentElement, ...document.querySelectorAll(".drawer")]
      .map((element) => element.scrollWidth - element.clientWidth)
      .reduce((most, more) => Math.max(most, more)),
  );
  assert.ok(wide <= 0, `something is ${wide} pixels too wide`);
}

/** Ends an answer with a call of a tool. */
function calls(stream: PlayedStream, name: string, given: unknown): void {
  stream.parts({ calls: [{ index: 0, id: "c1", function: { name, arguments: JSON.stringify(given) } }] });
  stream.end({ reason: "tool_calls" });
}

function told({ request }: PlayedStream): RequestMessage | undefined {
  return request.messages.at(-1);
}

test("Page: a function is written as a form, its call is answered by hand, and the answer goes on", {
  timeout: 2 * patience,
}, async () => {
  const streams: PlayedStream[] = [];
  const chat = await openTools(streams, sizes.phone);
  const { page } = chat;
  await page.getByRole("button", { name: "Add a function" }).click();
  await page.getByLabel("Name", { exact: true }).fill("weather");
  await page.getByLabel("What it does").fill("The weather of a city.");
  await page.getByRole("button", { name: "Add a parameter" }).click();
  await page.getByLabel("Name of parameter 1").fill("city");
  await looksRight(chat);
  await page.getByRole("button", { name: "Save", exact: true }).click();
  await page.getByRole("switch", { name: /weather/ }).waitFor();
  await page.getByRole("button", { name: "Close Settings" }).click();
  await chat.ask("Rain in Bonn?");
  const first = await nth(page, streams, 0);
  const parameters = { type: "object", properties: { city: { type: "string" } }, required: ["city"] };
  assert.deepEqual(first.request.tools, [
    { type: "function", function: { name: "weather", description: "The weather of a city.", parameters } },
  ]);
  calls(first, "weather", { city: "Bonn" });
  await page.getByLabel("What weather answers").fill("wet");
  await looksRight(chat);
  await page.getByRole("button", { name: "Send answer" }).click();
  const second = await nth(page, streams, 1);
  assert.deepEqual(told(second), { role: "tool", tool_call_id: "c1", content: "wet" });
  second.token("Yes.");
  second.end();
  await (await chat.finished()).getByText("Yes.").waitFor();
  await page.reload();
  await page.getByText("Your answer").waitFor();
  assert.deepEqual(chat.complaints, []);
});

test("Page: a tool of an MCP server runs once it is allowed; resources and prompts go to the message", {
  timeout: 3 * patience,
}, async () => {
  const { url, child } = await startEverything();
  const streams: PlayedStream[] = [];
  const chat = await openTools(streams);
  const { page } = chat;
  await page.getByLabel("Address").fill(url);
  await page.getByRole("button", { name: "Add server" }).click();
  const list = page.getByRole("list", { name: "MCP servers" });
  await list.getByRole("switch").first().waitFor();
  await chat.ask("Echo!");
  const first = await nth(page, streams, 0);
  const offered = (first.request.tools as { function: { name: string } }[]).map((tool) => tool.function.name);
  assert.ok(offered.includes("echo"), offered.join(" "));
  calls(first, "echo", { message: "hi" });
  await page.getByRole("button", { name: "Allow once" }).waitFor();
  await looksRight(chat);
  await page.getByRole("button", { name: "Allow once" }).click();
  const second = await nth(page, streams, 1);
  assert.deepEqual(told(second), { role: "tool", tool_call_id: "c1", content: "Echo: hi" });
  second.token("It said hi.");
  second.end();
  await chat.finished();

  await list.getByRole("button", { name: "Show resources and prompts" }).click();
  await list.getByText("Resources", { exact: true }).waitFor();
  await list.getByText("Its tools").click();
  await looksRight(chat);
  await list.getByRole("button", { name: /^Add / }).first().click();
  await page
    .getByRole("button", { name: /^Remove .*/ })
    .first()
    .waitFor();
  await list.getByRole("button", { name: /^Use / }).first().click();
  await page.waitForFunction(() => document.querySelector<HTMLTextAreaElement>("#question")?.value !== "");
  assert.deepEqual(chat.complaints, []);
  child.kill();
  await once(child, "exit");
});

function* spaces(): Generator<Buffer> {
  for (;;) yield Buffer.alloc(1 << 16, " ");
}

test("Page: an MCP server that is not there, is silent, or answers without end is not added, and why is said", {
  timeout: 2 * patience,
}, async () => {
  const chat = await openTools([]);
  const { page } = chat;
  const probe = createServer().listen(0, "127.0.0.1");
  await once(probe, "listening");
  const { port } = probe.address() as AddressInfo;
  probe.close();
  await page.getByLabel("Address").fill(`http://127.0.0.1:${port}/mcp`);
  await page.getByRole("button", { name: "Add server" }).click();
  await page.getByText(/The server was not added: it does not answer this page/).waitFor();
  await page.getByLabel("Address").fill("localhost");
  await page.getByRole("button", { name: "Add server" }).click();
  await page.getByText("The address must begin with http:// or https://.").waitFor();

  const endless = serveHTTP((request, response) => {
    response.setHeader("Access-Control-Allow-Origin", "*").setHeader("Access-Control-Allow-Headers", "*");
    response.setHeader("Content-Type", "application/json");
    if (request.method === "OPTIONS") response.end();
    else Readable.from(spaces()).pipe(response);
  }).listen(0, "127.0.0.1");
  await once(endless, "listening");
  await page.getByLabel("Address").fill(`http://127.0.0.1:${(endless.address() as AddressInfo).port}/mcp`);
  await page.getByRole("button", { name: "Add server" }).click();
  await page.getByText("The server was not added: it sends more than 8 MB.").waitFor();
  endless.closeAllConnections();
  endless.close();

  const silent = serveHTTP((request, response) => {
    response.setHeader("Access-Control-Allow-Origin", "*").setHeader("Access-Control-Allow-Headers", "*");
    if (request.method === "OPTIONS") response.end();
    else response.on("close", () => silent.emit("left"));
  }).listen(0, "127.0.0.1");
  await once(silent, "listening");
  const left = once(silent, "left");
  await page.getByLabel("Address").fill(`http://127.0.0.1:${(silent.address() as AddressInfo).port}/mcp`);
  const asked = once(silent, "request");
  await page.getByRole("button", { name: "Add server" }).click();
  await asked;
  await page.getByRole("button", { name: "Stop connecting" }).click();
  await page.getByText("The server was not added: it was stopped.").waitFor();
  await left;
  silent.close();
});

/** Follows the link to the sign-in, and chooses there. */
async function signIn({ page }: ChatPage, host: string, choice: "Allow" | "Deny"): Promise<void> {
  const opened = page.context().waitForEvent("page");
  await page.getByRole("link", { name: `Sign in at ${host}` }).click();
  const tab = await opened;
  await tab.getByRole("link", { name: choice }).click();
  await tab.getByText("You can close this tab").waitFor();
  await tab.waitForURL(({ search }) => search === ""); // the address does not keep the code
  await tab.close();
}

test("Page: an MCP server that wants it is signed in to, stays so, and is signed out of", {
  timeout: 3 * patience,
}, async () => {
  const { url, host, provider, http } = await startGuarded();
  const chat = await openTools([]);
  const { page } = chat;
  const kept = () =>
    page.evaluate(
      () => JSON.parse(localStorage["penstock.servers"] ?? "[]")[0]?.signedIn?.tokens?.access_token,
    );
  await page.getByLabel("Address").fill(url);
  await page.getByRole("button", { name: "Add server" }).click();
  await signIn(chat, host, "Deny");
  await page.getByText("The server was not added: the sign-in was declined.").waitFor();
  await page.getByRole("button", { name: "Add server" }).click();
  const link = page.getByRole("link", { name: `Sign in at ${host}` });
  await link.waitFor();
  await looksRight(chat);
  await page.getByLabel("Address").fill("another"); // meanwhile
  await page.getByText(`${host} wants you to sign in`).waitFor();
  // What nobody has asked for leads to nothing.
  await page.evaluate(() =>
    new BroadcastChannel("penstock-oauth").postMessage({ state: "other", code: "stolen", error: "" }),
  );
  await signIn(chat, host, "Allow");
  const list = page.getByRole("list", { name: "MCP servers" });
  await list.getByRole("switch").first().waitFor();
  const first = await kept();
  assert.ok(provider.knows(first));

  await page.getByLabel("Address").fill(url);
  await page.getByRole("button", { name: "Add server" }).click();
  await page.locator("[placeholder$='/mcp']:placeholder-shown").waitFor(); // it is added
  assert.equal(await kept(), first, "who adds it once more is signed out");

  provider.expire();
  await list.getByRole("button", { name: "Show resources and prompts" }).click();
  await list.getByText("It has neither resources nor prompts.").waitFor();
  assert.equal(provider.refreshed, 1);
  assert.ok(provider.knows(await kept()), "the new token is not kept");

  await list.getByRole("button", { name: "Sign out of guarded" }).click();
  await list.getByRole("button", { name: "Sign out of guarded" }).waitFor({ state: "detached" });
  assert.equal(await kept(), undefined);
  await list.getByRole("button", { name: /^(Refresh|Show)/ }).click();
  await signIn(chat, host, "Allow");
  await list.getByText("It has neither resources nor prompts.").waitFor();
  assert.ok(provider.knows(await kept()));
  assert.deepEqual(chat.complaints, []);
  http.closeAllConnections();
  http.close();
});

test("Page: where the page cannot register itself, a person gives the client's id", {
  timeout: 2 * patience,
}, async () => {
  const { url, host, http } = await startGuarded({ client: "by-hand", redirect: `${server.url}/oauth.html` });
  const chat = await openTools([]);
  const { page } = chat;
  await page.getByLabel("Address").fill(url);
  await page.getByRole("button", { name: "Add server" }).click();
  await page.getByText(`Register it with the redirect address ${server.url}/oauth.html`).waitFor();
  await page.getByLabel("Client ID").fill("by-hand");
  await page.getByRole("button", { name: "Add server" }).click();
  await signIn(chat, host, "Allow");
  await page.getByRole("list", { name: "MCP servers" }).getByRole("switch").first().waitFor();
  assert.deepEqual(chat.complaints, []);
  http.closeAllConnections();
  http.close();
});
