// SPDX-License-Identifier: MIT

// Pictures and sounds from where a person has them to what is sent. The test answers in the host's
// place, and says what its model takes.
import assert from "node:assert/strict";
import { test } from "node:test";
import type { BrowserContextOptions, Page } from "playwright-core";
import { findings } from "./axe.ts";
import { patience, useBrowser } from "./browser.ts";
import { choose, give, type Picked, png, turnedJPEG, wav } from "./media.ts";
import { blue, hash, modalities, openPerceiving, red, type Told, url } from "./perceiving.ts";
import { useServer } from "./server.ts";
import { phone, sizes } from "./sizes.ts";
import { some } from "./steady.ts";

useBrowser();
const server = useServer();

/** A page whose host has one model, which sees and hears as told. */
const open = (told?: Told, options?: BrowserContextOptions) => openPerceiving(server, told, options);

const ways: Record<string, (page: Page, files: Picked[]) => Promise<void>> = {
  chosen: (page, files) => choose(page, "Pictures", files),
  dropped: (page, files) => give(page, "drop", files),
  pasted: (page, files) => give(page, "paste", files),
};

for (const [way, add] of Object.entries(ways)) {
  test(`Page: pictures that are ${way} are sent as they are, and shown`, {
    timeout: 3 * patience,
  }, async () => {
    const { chat, files, frames, asked } = await open();
    const { page } = chat;
    await add(page, [red, blue]);
    await page.getByRole("img", { name: "red.png" }).waitFor();
    await page.getByRole("img", { name: "blue.png" }).waitFor();
    await chat.ask("Which is red?");
    await chat.finished();
    const names = [red, blue].map(({ buffer }) => hash(buffer));
    assert.deepEqual(frames, [...names.map((name) => `file ${name}`), "generate"]);
    for (const { buffer } of [red, blue]) assert.deepEqual(files.get(hash(buffer)), buffer);
    assert.deepEqual(asked[0], [[url(red), url(blue), { type: "text", text: "Which is red?" }]]);
    const question = page.getByRole("region", { name: "Your message" });
    const wide = (img: HTMLImageElement) => img.decode().then(() => img.naturalWidth);
    assert.equal(await question.getByRole("img", { name: "blue.png" }).evaluate(wide as never), 64);
    await chat.ask("And blue?"); // which names them again, and sends nothing again
    await chat.answers.nth(1).waitFor();
    await chat.finished();
    assert.equal(frames.length, 4);
    assert.deepEqual(asked[1]?.[0], asked[0]?.[0]);
    assert.deepEqual(chat.complaints, []);
  });
}

test("Page: a photo of a phone is scaled down, upright, and can be taken by its camera", {
  timeout: 3 * patience,
}, async () => {
  const { chat, files, asked } = await open({}, phone);
  const { page } = chat;
  const photo = { name: "photo.jpg", mimeType: "image/jpeg", buffer: await turnedJPEG(page, 4000, 3000) };
  const chooser = page.waitForEvent("filechooser");
  await page.getByRole("button", { name: "Add files" }).tap();
  await page.getByRole("menuitem", { name: "Take a photo" }).tap();
  const element = (await chooser).element();
  assert.equal(await element.getAttribute("capture"), "environment");
  assert.equal(await element.getAttribute("accept"), "image/*");
  await (await chooser).setFiles(photo);
  const img = page.getByRole("img", { name: "photo.jpg" });
  await img.waitFor();
  const corners = await img.evaluate(async (shown) => {
    await (shown as HTMLImageElement).decode();
    const bitmap = await createImageBitmap(shown as HTMLImageElement);
    const canvas = new OffscreenCanvas(bitmap.width, bitmap.height);
    const context = canvas.getContext("2d");
    context?.drawImage(bitmap, 0, 0);
    const [left, right] = [20, bitmap.width - 20].map((x) =>
      [...(context?.getImageData(x, 20, 1, 1).data ?? [])].map((part) => part > 128),
    );
    return { width: bitmap.width, height: bitmap.height, left, right };
  });
  const [blue, red] = [
    [false, false, true, true],
    [true, false, false, true],
  ];
  assert.deepEqual(corners, { width: 1549, height: 2065, left: blue, right: red });
  await chat.ask("What is this?");
  await chat.finished();
  const [sent] = files.values();
  assert.equal(sent?.subarray(0, 3).toString("hex"), "ffd8ff");
  assert.ok(!sent?.includes("Exif"), "it is drawn anew");
  assert.equal(asked[0]?.[0]?.length, 2);
  assert.deepEqual(chat.complaints, []);
});

test("Page: what is too large for a lossless picture is sent as JPEG; an animated GIF is kept", {
  timeout: 3 * patience,
}, async () => {
  const { chat, files } = await open();
  const noise = { name: "noise.png", mimeType: "image/png", buffer: png(2000, 1700) };
  const bare = Buffer.from("R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7", "base64");
  await choose(chat.page, "Pictures", [noise, { name: "dot.gif", mimeType: "image/gif", buffer: bare }]);
  await chat.page.getByRole("img", { name: "dot.gif" }).waitFor();
  await chat.ask("What is this?");
  await chat.finished();
  const small = files.get(hash(bare));
  const [large] = [...files.values()].filter((file) => file !== small);
  assert.equal(large?.subarray(0, 3).toString("hex"), "ffd8ff");
  assert.ok((large?.length ?? 0) < noise.buffer.length);
  assert.deepEqual(small, bare);
});

test("Page: pictures are opened in large and removed, with the keyboard alone", {
  timeout: 3 * patience,
}, async () => {
  const { chat, asked } = await open();
  const { page } = chat;
  const { keyboard } = page;
  await choose(page, "Pictures", [red, blue]);
  await page.getByRole("img", { name: "blue.png" }).waitFor();
  await page.locator("#question:focus").waitFor(); // a frame after they are drawn
  await page.getByRole("button", { name: "red.png", exact: true }).focus();
  await keyboard.press("Enter");
  await page.getByRole("dialog", { name: "red.png" }).getByRole("img", { name: "red.png" }).waitFor();
  await keyboard.press("ArrowRight");
  const dialog = page.getByRole("dialog", { name: "blue.png" });
  await dialog.getByRole("img", { name: "blue.png" }).waitFor();
  await dialog.getByText("2 of 2").waitFor();
  await keyboard.press("Escape");
  await dialog.waitFor({ state: "detached" });
  await page.getByRole("button", { name: "Remove red.png" }).focus();
  await keyboard.press("Enter");
  await page.getByRole("img", { name: "red.png" }).waitFor({ state: "detached" });
  await page.locator("#question:focus").waitFor();
  await keyboard.press("Enter"); // a picture alone is a question
  await chat.finished();
  assert.deepEqual(asked, [[[url(blue)]]]);
  await page.getByRole("link", { name: "blue.png" }).waitFor(); // names the chat
  assert.deepEqual(chat.complaints, []);
});

test("Page: questions that are edited, answered again and sent after a reload keep their pictures", {
  timeout: 4 * patience,
}, async () => {
  const { chat, asked, frames } = await open();
  const { page } = chat;
  await choose(page, "Pictures", [red, blue]);
  await chat.ask("What?");
  await (await chat.finished()).getByRole("button", { name: "Regenerate" }).click();
  await page.getByText("2 of 2").waitFor();
  await chat.finished();
  await page.reload();
  await chat.online();
  const question = page.getByRole("region", { name: "Your message" });
  await question.getByRole("img", { name: "red.png" }).waitFor();
  await question.hover();
  await question.getByRole("button", { name: "Edit" }).click();
  await page.getByRole("button", { name: "Remove red.png" }).click();
  await page.getByRole("textbox", { name: "Edit your message" }).fill("What now?");
  await page.keyboard.press("Enter");
  await page.getByText("What now?").waitFor();
  await chat.finished();
  const whole = [url(red), url(blue), { type: "text", text: "What?" }];
  assert.deepEqual(asked, [[whole], [whole], [[url(blue), { type: "text", text: "What now?" }]]]);
  assert.equal(
    frames.filter((frame) => frame.startsWith("file")).length,
    3,
    "blue goes again on a new connection",
  );
  await page.getByRole("searchbox").fill("now");
  await page.getByRole("link", { name: /What now\?/ }).waitFor();
  assert.deepEqual(chat.complaints, []);
});

test("Page: a chat takes its pictures along to another browser, and away when it is deleted", {
  timeout: 4 * patience,
}, async () => {
  const { chat } = await open();
  const { page } = chat;
  await choose(page, "Pictures", [red]);
  await chat.ask("What?");
  await chat.finished();
  const save = async (as: string) => {
    await page.getByRole("button", { name: "Actions for What?" }).click();
    const saved = page.waitForEvent("download");
    await page.getByRole("menuitem", { name: as }).click();
    return (await saved).path();
  };
  const archive = await save("Export as JSON");
  const { readFileSync } = await import("node:fs");
  const base64 = `data:image/png;base64,${red.buffer.toString("base64")}`;
  assert.ok(readFileSync(await save("Export as Markdown"), "utf8").endsWith(`[picture 1]: ${base64}\n`));

  assert.deepEqual(await kept(page), [hash(red.buffer)]);
  await page.getByRole("button", { name: "Actions for What?" }).click();
  await page.getByRole("menuitem", { name: "Delete" }).click();
  await page.getByRole("button", { name: "Undo" }).click();
  await page.getByRole("region", { name: "Your message" }).getByRole("img", { name: "red.png" }).waitFor();
  await page.getByRole("button", { name: "Actions for What?" }).click();
  await page.getByRole("menuitem", { name: "Delete" }).click();
  await page.getByRole("button", { name: "Dismiss" }).click();
  while ((await kept(page)).length > 0) await page.waitForTimeout(20);

  const other = await open();
  await other.chat.page.getByLabel("Import chats").setInputFiles(archive);
  await other.chat.page.getByText("1 chat is imported.").waitFor();
  await other.chat.page.getByRole("link", { name: "What?" }).click();
  const img = other.chat.page.getByRole("img", { name: "red.png" });
  await img.waitFor();
  assert.deepEqual(await kept(other.chat.page), [hash(red.buffer)]);
  await other.chat.ask("Again?");
  await other.chat.answers.nth(1).waitFor();
  await other.chat.finished();
  assert.deepEqual(other.files.get(hash(red.buffer)), red.buffer);
  for (const one of [chat, other.chat]) {
    assert.deepEqual(one.complaints, []);
    await one.close();
  }
});

/** The names of the files that the browser keeps. */
function kept(page: Page): Promise<string[]> {
  return page.evaluate(
    () =>
      new Promise<string[]>((resolve, reject) => {
        const opening = indexedDB.open("penstock");
        opening.onerror = () => reject(opening.error);
        opening.onsuccess = () => {
          const reading = opening.result.transaction("files").objectStore("files").getAllKeys();
          reading.onsuccess = () => {
            opening.result.close();
            resolve(reading.result.map(String));
          };
        };
      }),
  );
}

test("Page: a model that cannot see or hear says so before anything is sent", {
  timeout: 4 * patience,
}, async () => {
  const { chat, frames, asked } = await open({ vision: false, audio: false });
  const { page } = chat;
  const said = page.getByRole("alert").filter({ hasText: "cannot see pictures" });
  for (const add of [ways.dropped, ways.pasted]) {
    await add?.(page, [red]);
    await said
      .getByText("red.png was not added: penstock-tiny cannot see pictures. Choose a model that can.")
      .waitFor();
    await chat.ask("Hello!"); // which takes the sentence away
    await said.waitFor({ state: "detached" });
    await chat.finished();
  }
  await page.getByRole("button", { name: "Add files" }).click();
  await page.getByRole("menuitem", { name: "Pictures" }).click();
  await said.getByText("penstock-tiny cannot see pictures. Choose a model that can.").waitFor();
  await page.getByRole("button", { name: "Add files" }).click();
  await page.getByRole("menuitem", { name: "Record a sound" }).click();
  await page.getByRole("alert").getByText("penstock-tiny cannot hear sounds.").waitFor();
  assert.deepEqual(frames, ["generate", "generate"]);
  assert.deepEqual(asked[1], ["Hello!", "I see.", "Hello!"]);
  assert.deepEqual(chat.complaints, []);
});

test("Page: when the model is switched to one that cannot see, that is said before the next question", {
  timeout: 4 * patience,
}, async () => {
  const { chat, asked } = await open();
  const { page } = chat;
  await choose(page, "Pictures", [red]);
  await chat.ask("What?");
  await chat.finished();
  await choose(page, "Pictures", [blue]);
  await page.getByRole("img", { name: "blue.png" }).waitFor();
  await modalities(page, { vision: false, audio: false });
  await page.reload();
  await chat.online();
  await page
    .getByText("penstock-tiny cannot see pictures: of those in this chat it is told the names only.")
    .waitFor();
  await chat.ask("And now?");
  await chat.answers.nth(1).waitFor();
  await chat.finished();
  const named = "(red.png: a picture that you cannot perceive)\n\nWhat?";
  assert.deepEqual(asked[1], [named, "I see.", "And now?"]);
  assert.deepEqual(chat.complaints, []);
});

test("Page: a file that cannot be added is named, with the reason", { timeout: 2 * patience }, async () => {
  const { chat } = await open();
  const { page } = chat;
  const cut = { ...red, name: "cut.png", buffer: red.buffer.subarray(0, 40) };
  const noise = { name: "noise.wav", mimeType: "audio/wav", buffer: Buffer.from("RIFF1234WAVEfmt ") };
  await give(page, "drop", [cut, noise, blue]);
  const alert = page.getByRole("alert");
  await alert.getByText("cut.png was not added: the browser cannot read this picture.").waitFor();
  await alert.getByText("noise.wav was not added: the browser cannot read this sound.").waitFor();
  await page.getByRole("img", { name: "blue.png" }).waitFor();
  assert.deepEqual(chat.complaints, []);
});

for (const [size, options] of some(sizes, 1)) {
  test(`Page: axe finds nothing about pictures and sounds (${size})`, { timeout: 4 * patience }, async () => {
    const { chat } = await open({}, { ...options, permissions: ["microphone"] });
    const { page } = chat;
    const clean = async (where: string) => {
      assert.deepEqual(await findings(page), [], `${where}, ${size}`);
      const width = await page.evaluate(() => document.documentElement.scrollWidth);
      assert.ok(width <= (options.viewport?.width ?? 0), `${where}, ${size}: it is ${width} pixels wide`);
    };
    const sound = {
      name: "a long name of a sound that has to be cut.wav",
      mimeType: "audio/wav",
      buffer: wav(0.2),
    };
    await page.getByLabel("Files", { exact: true }).setInputFiles([red, blue, sound]);
    await page.getByLabel(sound.name, { exact: true }).waitFor();
    if (options.hasTouch) {
      const box = await page.getByRole("button", { name: "Remove red.png" }).boundingBox();
      assert.ok(Math.min(box?.width ?? 0, box?.height ?? 0) >= 44, "it is too small for a finger");
    }
    await clean("the composer");
    await chat.ask("Which is red?");
    await chat.finished();
    await clean("the message");
    await page.getByRole("button", { name: "red.png", exact: true }).click();
    await page.getByRole("dialog", { name: "red.png" }).getByRole("img").waitFor();
    await clean("in large");
    await page.keyboard.press("Escape");
    await page.getByRole("button", { name: "Add files" }).click();
    await page.getByRole("menuitem", { name: "Record a sound" }).click();
    await page.getByRole("timer").waitFor();
    await clean("the recorder");
    await page.getByRole("button", { name: "Discard" }).click();
    assert.deepEqual(chat.complaints, []);
  });
}
