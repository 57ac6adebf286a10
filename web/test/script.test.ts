// SPDX-License-Identifier: MIT

// The script of a chat: its editor, the answer that is computed anew, the gallery. The test answers
// in the host's place, so that scripts do what it says.
import assert from "node:assert/strict";
import { test } from "node:test";
import type { BrowserContextOptions, Page } from "playwright-core";
import type { GenerateRequest } from "../src/host/protocol.ts";
import { drawnCat } from "../src/trace/sampletraces.ts";
import { findings } from "./axe.ts";
import { ChatPage, patience, useBrowser, withSettings } from "./browser.ts";
import { type PlayedStream, play } from "./play.ts";
import { useServer } from "./server.ts";
import { devices, sizes } from "./sizes.ts";
import { some } from "./steady.ts";

useBrowser();
const server = useServer();

type Check = { status?: number; body: object };
const sound: Check = { body: { ok: true, implements: ["penstock_open", "penstock_sample"] } };

/** What the script of a request is; undefined: it has none. */
function scriptOf({ plugins }: GenerateRequest): { script: string; config?: unknown } | undefined {
  return (plugins as { script: string }[] | undefined)?.find((use) => use.script !== undefined);
}

/** An answer that says what its script has in quotes, after words that are always the same. */
function answer(stream: PlayedStream): void {
  const said = /"(.*?)"/.exec(scriptOf(stream.request)?.script ?? "")?.[1] ?? "frog";
  for (const word of ["Once", " a", ` ${said}`, " sat", "."]) stream.token(word);
  stream.end();
}

interface Played {
  chat: ChatPage;
  page: Page;
  editor: ReturnType<Page["getByRole"]>;
  requests: GenerateRequest[];
  checks: { source: string; config?: unknown }[];
}

/** A page with a question, and beside it the script. */
async function opened(
  check: (source: string) => Check = () => sound,
  options: BrowserContextOptions = {},
  answers = answer,
): Promise<Played> {
  const requests: GenerateRequest[] = [];
  const checks: Played["checks"] = [];
  const chat = await ChatPage.open(server.url, options, async (page) => {
    await page.route(/\/v1\/scripts\/check$/, (route) => {
      const asked = route.request().postDataJSON();
      checks.push(asked);
      const { status = 200, body } = check(asked.source);
      return route.fulfill({ status, json: body });
    });
    await play(page, (stream) => {
      requests.push(stream.request);
      answers(stream);
    });
  });
  await chat.ask("Tell me of a frog.");
  await chat.finished();
  const { page } = chat;
  await page.getByRole("button", { name: "Script", exact: true }).click();
  const editor = page.getByRole("textbox", { name: "Script" });
  await editor.waitFor();
  return { chat, page, editor, requests, checks };
}

const run = (page: Page) => page.getByRole("region", { name: "The answer with this script" });

for (const [size, options] of some(devices, 1))
  test(`Script: the answer follows what is typed, and the first other token is marked (${size})`, {
    timeout: 3 * patience,
  }, async () => {
    const { chat, page, editor, requests, checks } = await opened(undefined, options);
    await run(page).getByText("Once a frog sat.").waitFor(); // without a script, to compare with
    await editor.fill('say("cat")');
    await run(page).getByText("Once a cat sat.").waitFor();
    assert.equal(await run(page).locator("mark").innerText(), " cat");
    await run(page).getByText("Differs from the run before at token 3: ␣cat, before ␣frog.").waitFor();
    await run(page).getByText("with sample").waitFor();
    assert.deepEqual(checks, [{ source: 'say("cat")' }]);
    const [asked, plain, scripted] = requests;
    assert.equal(asked?.plugins, undefined);
    assert.equal(plain?.plugins, undefined);
    assert.deepEqual(scripted?.plugins, [{ script: 'say("cat")' }]);
    assert.equal(scripted?.seed, plain?.seed, "the seed is the same");
    assert.notEqual(scripted?.seed, undefined);

    await editor.fill('say("cat") // again');
    await run(page).getByText("The same as the run before, token for token.").waitFor();
    assert.equal(await run(page).locator("mark").count(), 0);
    assert.deepEqual(chat.complaints, []);
  });

test("Script: a run is cancelled when the next begins", { timeout: 3 * patience }, async () => {
  const open: PlayedStream[] = [];
  const cancelled: string[] = [];
  const chat = await ChatPage.open(server.url, {}, async (page) => {
    await page.route(/\/v1\/scripts\/check$/, (route) => route.fulfill({ json: sound.body }));
    await play(
      page,
      (stream) => {
        stream.token("It ");
        open.push(stream);
      },
      (frame) => {
        if (frame.type !== "cancel") return;
        cancelled.push(frame.id);
        open.find(({ id }) => id === frame.id)?.end({ reason: "cancelled" });
      },
    );
  });
  const { page } = chat;
  await chat.online();
  await page.getByRole("button", { name: "Script", exact: true }).click();
  await run(page).getByText("It", { exact: true }).waitFor(); // of a chat without a question
  assert.equal(open[0]?.request.messages[0]?.content, "Tell me a story about a frog.");
  await page.getByRole("textbox", { name: "Script" }).fill("export function sample() {}");
  await run(page).getByText("with sample").waitFor();
  await page.waitForFunction(() => document.querySelector(".run .tried")?.ariaBusy === "true");
  for (; open.length < 2; ) await page.waitForTimeout(20);
  assert.deepEqual(cancelled, [open[0]?.id]);
  await page.getByRole("button", { name: "Close Script" }).click();
  for (; cancelled.length < 2; ) await page.waitForTimeout(20);
  assert.deepEqual(cancelled, [open[0]?.id, open[1]?.id], "nothing runs when the panel is closed");
});

test("Script: an error is shown at its line, and the last answer stays", {
  timeout: 3 * patience,
}, async () => {
  const error = { message: "SyntaxError: unexpected token in expression: ')'", line: 2, column: 3 };
  const { page, editor, requests } = await opened((source) =>
    source.includes("))") ? { body: { ok: false, error } } : sound,
  );
  await editor.fill('say("cat")');
  await run(page).getByText("Once a cat sat.").waitFor();
  const runs = requests.length;
  await editor.fill('say("dog")\n  ))\n// end');
  const problem = page.locator("#script-error");
  await problem.getByText(/unexpected token/).waitFor();
  assert.equal(await problem.getAttribute("role"), "alert");
  assert.equal(await editor.getAttribute("aria-invalid"), "true");
  assert.match((await editor.getAttribute("aria-describedby")) ?? "", /script-error/);
  assert.equal(await page.locator('.gutter [data-wrong="true"]').innerText(), "2");
  assert.equal(await page.locator(".wrong-line").count(), 1);
  assert.equal(await run(page).locator(".tried").innerText(), "Once a cat sat.");
  assert.equal(requests.length, runs, "it does not run");
  await problem.getByRole("button", { name: "Line 2" }).click();
  await editor.and(page.locator(":focus")).waitFor();
  assert.equal(await editor.evaluate((field: HTMLTextAreaElement) => field.selectionStart), 13);
  await editor.fill('say("dog")');
  await run(page).getByText("Once a dog sat.").waitFor();
  assert.equal(await problem.innerText(), "");
});

test("Script: an error of the running script is shown at its line, too", {
  timeout: 3 * patience,
}, async () => {
  const { page, editor } = await opened(undefined, {}, (stream) => {
    if (scriptOf(stream.request) === undefined) return answer(stream);
    stream.token("Once");
    const message = "TypeError: cannot read property 'foo' of null (script.js:2:9)";
    stream.end({ reason: "error", error: { message, type: "plugin_failed" } });
  });
  await editor.fill("export function sample(c) {\n  null.foo;\n}");
  await page
    .locator("#script-error")
    .getByText(/cannot read property/)
    .waitFor();
  assert.equal(await page.locator('.gutter [data-wrong="true"]').innerText(), "2");
});

test("Script: the gallery fills the editor and the configuration, and undo brings back what was there", {
  timeout: 3 * patience,
}, async () => {
  const { page, editor, checks } = await opened();
  const gallery = page.locator(".gallery");
  await editor.fill("// mine");
  await gallery.getByText("Gallery: 21 scripts").click();
  assert.equal(await gallery.getByRole("listitem").count(), 21);
  assert.ok((await gallery.locator("small").allInnerTexts()).every((line) => line.endsWith(".")));
  await gallery.getByRole("button", { name: /^force-prefix/ }).click();
  await page.waitForFunction(() =>
    document.querySelector<HTMLTextAreaElement>("#script-source")?.value.startsWith("// The answer begins"),
  );
  const config = page.getByRole("textbox", { name: "Configuration" });
  assert.deepEqual(JSON.parse(await config.inputValue()), { prefix: "In a dark wood, " });
  await page.locator(".code-text .hljs-keyword").first().waitFor(); // its colours
  for (; checks.at(-1)?.config === undefined; ) await page.waitForTimeout(20);
  assert.deepEqual(checks.at(-1)?.config, { prefix: "In a dark wood, " });
  await editor.and(page.locator(":focus")).waitFor();
  await page.keyboard.press("Control+z");
  assert.equal(await editor.inputValue(), "// mine");
});

test("Script: Tab indents, and leaves the editor after Esc", { timeout: 2 * patience }, async () => {
  const { page, editor } = await opened();
  await editor.focus();
  await page.keyboard.type("a {");
  await page.keyboard.press("Enter");
  await page.keyboard.press("Tab");
  await page.keyboard.type("b");
  await page.keyboard.press("Enter");
  await page.keyboard.type("c");
  assert.equal(await editor.inputValue(), "a {\n  b\n  c");
  await page.keyboard.press("Escape");
  await page.getByText("Tab now leaves the editor.").waitFor();
  await page.keyboard.press("Tab");
  await page.getByRole("textbox", { name: "Configuration" }).and(page.locator(":focus")).waitFor();
  await editor.focus();
  await page.keyboard.press("Escape");
  await page.keyboard.press("Escape");
  await editor.waitFor({ state: "detached" });
});

test("Script: a configuration that is no JSON is said to be none", { timeout: 2 * patience }, async () => {
  const { page, editor, checks } = await opened();
  const config = page.getByRole("textbox", { name: "Configuration" });
  await editor.fill('say("cat")');
  await config.fill('{"a":');
  await page.getByText(/^This is not JSON: /).waitFor();
  assert.equal(await config.getAttribute("aria-invalid"), "true");
  await config.fill('{"a": 1}');
  await run(page).getByText("Once a cat sat.").waitFor();
  assert.deepEqual(checks.at(-1), { source: 'say("cat")', config: { a: 1 } });
});

test("Script: it is kept with its chat, and used where it is switched on", {
  timeout: 4 * patience,
}, async () => {
  const { chat, page, editor, requests } = await opened();
  await editor.fill('say("cat")');
  await page.getByRole("textbox", { name: "Configuration" }).fill('{"a": 1}');
  await run(page).getByText("Once a cat sat.").waitFor();
  await chat.ask("Another?");
  await chat.answers.nth(1).waitFor();
  await chat.finished();
  const asked = (text: string) =>
    requests.find(({ messages, trace }) => messages.at(-1)?.content === text && trace !== true);
  assert.equal(asked("Another?")?.plugins, undefined, "it is off");
  await page.getByRole("switch", { name: /Use in this chat/ }).check();
  await chat.ask("And now?");
  await chat.answers.nth(2).waitFor();
  await chat.finished();
  assert.deepEqual(asked("And now?")?.plugins, [{ script: 'say("cat")', config: { a: 1 } }]);
  await page.getByRole("button", { name: /^Settings of this chat:.*Script/ }).waitFor();

  await page.reload();
  await chat.online();
  await page.getByRole("button", { name: "Script", exact: true }).click();
  assert.equal(await editor.inputValue(), 'say("cat")');
  assert.equal(await page.getByRole("switch", { name: /Use in this chat/ }).isChecked(), true);
  await page.getByRole("button", { name: "New chat" }).first().click();
  await page.locator(".welcome").waitFor();
  assert.equal(await editor.inputValue(), "", "another chat has a script of its own");
  assert.deepEqual(chat.complaints, []);
});

test("Script: the request is copied as curl and as JSON", { timeout: 2 * patience }, async () => {
  const { page, editor } = await opened();
  await page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
  await editor.fill("it's");
  await run(page).getByText("with sample").waitFor();
  const clipboard = () => page.evaluate(() => navigator.clipboard.readText());
  await page.getByRole("button", { name: "Copy as JSON" }).click();
  await page.getByText("The request’s body is copied.").waitFor();
  const body = JSON.parse(await clipboard());
  assert.deepEqual(body.plugins, [{ script: "it's" }]);
  assert.deepEqual(body.messages, [{ role: "user", content: "Tell me of a frog." }]);
  assert.equal(body.trace, undefined);
  await page.getByRole("button", { name: "Copy as curl" }).click();
  await page.getByText("The curl command is copied.").waitFor();
  assert.match(await clipboard(), /^curl -N 'http:.*\/v1\/chat\/completions'[\s\S]*it'\\''s/);
});

test("Script: where scripts are off the panel says why, and what to set", {
  timeout: 2 * patience,
}, async () => {
  const message = "this server takes no scripts from you: plugins.scripts is off";
  const { page, editor, requests } = await opened(() => ({ status: 403, body: { error: { message } } }));
  await editor.fill("export function sample() {}");
  const alert = page.locator(".script > .problem");
  await alert.getByText("This server takes no scripts from you: plugins.scripts is off.").waitFor();
  await alert.getByText(/can set plugins\.scripts: on/).waitFor();
  assert.ok(requests.every((request) => scriptOf(request) === undefined));
});

test("Script: notes are shown, and the inspector has them", { timeout: 3 * patience }, async () => {
  const printing = { body: { ...sound.body, log: ["a mask of 12 tokens"] } };
  const { chat, page, editor } = await opened(
    () => printing,
    {},
    (stream) => {
      if (scriptOf(stream.request) === undefined) return answer(stream);
      stream.token("cat", { ...drawnCat(), notes: [{ by: "plugin:script", text: "an animal" }] });
      stream.end();
    },
  );
  await editor.fill("note");
  const told = run(page).locator(".told");
  await told.getByText("Before the answer: a mask of 12 tokens").waitFor();
  await told.getByText(/^Token 1, .*: an animal$/m).waitFor();
  await page.getByRole("button", { name: "Write it into the chat and inspect it" }).click();
  await page.getByRole("region", { name: "Candidates" }).waitFor();
  await page.getByText("plugin:script notes: an animal").waitFor();
  assert.deepEqual(chat.complaints, []);
});

test("Script: one that came with an imported chat runs only when it is told to", {
  timeout: 3 * patience,
}, async () => {
  const requests: GenerateRequest[] = [];
  const checks: unknown[] = [];
  const script = { source: 'say("cat")', config: "", on: false, imported: true } as const;
  const chat = await ChatPage.open(server.url, {}, async (page) => {
    await withSettings({ script })(page);
    await page.route(/\/v1\/scripts\/check$/, (route) => {
      checks.push(route.request().postDataJSON());
      return route.fulfill({ json: sound.body });
    });
    await play(page, (stream) => {
      requests.push(stream.request);
      answer(stream);
    });
  });
  await chat.ask("Tell me of a frog.");
  await chat.finished();
  const { page } = chat;
  await page.getByRole("button", { name: "Script", exact: true }).click();
  await page.getByText("This script came in an imported file").waitFor();
  assert.deepEqual(await findings(page), []); // takes longer than a pause in typing
  assert.equal(checks.length, 0);
  assert.deepEqual(
    requests.map(({ plugins }) => plugins),
    [undefined],
  );
  await page.getByRole("button", { name: "Run it" }).click();
  await run(page).getByText("Once a cat sat.").waitFor();
  assert.equal(await page.getByText("This script came in an imported file").count(), 0);
  assert.deepEqual(chat.complaints, []);
});

test("Script: it is saved as a plugin under a name, with the admin key", {
  timeout: 3 * patience,
}, async () => {
  const { page, editor } = await opened();
  const uploads: { url: string; type: string; body: string }[] = [];
  await page.route(/\/v1\/plugins(\?|$)/, (route) => {
    const request = route.request();
    if (request.method() !== "POST") return route.fulfill({ json: { data: [] } });
    if (request.headers().authorization !== "Bearer secret")
      return route.fulfill({ status: 401, json: { error: { message: "the admin key is missing" } } });
    uploads.push({
      url: request.url(),
      type: request.headers()["content-type"] ?? "",
      body: request.postData() ?? "",
    });
    return route.fulfill({ status: 201, json: { name: "ban", sha256: "00", manifest: {} } });
  });
  await editor.fill("export function sample() {}");
  await page.getByText("Save as a plugin").click();
  const name = page.getByRole("textbox", { name: "Name of the plugin" });
  await page.getByRole("button", { name: "Save", exact: true }).click();
  await page.getByText("Give it a name.").waitFor();
  await name.fill("Ban it");
  await page.getByText(/A name has small letters/).waitFor();
  await name.fill("ban");
  await page.getByRole("button", { name: "Save", exact: true }).click();
  const dialog = page.getByRole("dialog", { name: "Admin key" });
  await dialog.getByRole("textbox", { name: "Admin key" }).fill("secret");
  await dialog.getByRole("button", { name: "Continue" }).click();
  await page.getByText("ban is there.").waitFor();
  assert.equal(uploads.length, 2);
  const [dry, real] = uploads;
  assert.match(dry?.url ?? "", /dry_run=true/);
  assert.match(real?.url ?? "", /name=ban/);
  assert.equal(real?.type, "text/javascript");
  assert.equal(real?.body, "export function sample() {}");
});

for (const [size, options] of some(sizes, 1))
  test(`Script: axe finds nothing, and nothing is too wide (${size})`, {
    timeout: 4 * patience,
  }, async () => {
    const error = { message: "SyntaxError: it is wrong", line: 1 };
    const { page, editor } = await opened(
      (source) => (source === "))" ? { body: { ok: false, error } } : sound),
      options,
    );
    await editor.fill(`say("cat") // ${"a long line ".repeat(20)}`);
    await run(page).getByText("Once a cat sat.").waitFor();
    await page.locator(".gallery summary").click();
    await page.getByText("Save as a plugin").click();
    await page.getByRole("textbox", { name: "Name of the plugin" }).waitFor();
    assert.deepEqual(await findings(page), []);
    const wide = await page
      .locator(".drawer")
      .evaluate((element) => element.scrollWidth - element.clientWidth);
    assert.ok(wide <= 0, `the panel is ${wide} pixels too wide`);
    await editor.fill("))");
    await page
      .locator("#script-error")
      .getByText(/it is wrong/)
      .waitFor();
    assert.deepEqual(await findings(page), []);
  });
