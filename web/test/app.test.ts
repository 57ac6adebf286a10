// SPDX-License-Identifier: MIT

// The page as an app: it opens without the server, and is never an old one where that answers.
import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer, type IncomingMessage, request, type ServerResponse } from "node:http";
import { type AddressInfo, connect, type Socket } from "node:net";
import type { Duplex } from "node:stream";
import { test } from "node:test";
import type { Page } from "playwright-core";
import { ChatPage, patience, useBrowser, withSettings, words } from "./browser.ts";
import { Server, useServer } from "./server.ts";

const options = { timeout: 6 * patience };
const allowed = { serviceWorkers: "allow" } as const;
useBrowser();
const server = useServer();

/** Resolves once the page is kept, so that it opens without the server. */
async function installed({ page }: ChatPage): Promise<unknown> {
  await page.clock.fastForward(3000); // it begins when what the page needs itself has come
  return page.evaluate(() => navigator.serviceWorker.ready.then(() => true));
}

test(
  "Page: it opens without the server, below a prefix, and keeps no answer of the API",
  options,
  async () => {
    const own = await Server.start({ flags: ["--api-prefix", "/x"] });
    const short = async (page: Page) => {
      await page.clock.install();
      await withSettings({ sampling: { max_tokens: 8 } })(page);
    };
    const german = { ...allowed, locale: "de-DE" }; // its texts are kept, too
    const chat = await ChatPage.open(`${own.url}/?kept=not`, german, short);
    const { page } = chat;
    await chat.online();
    await page.locator("#question").fill("Hello!");
    await page.locator("#question").press("Enter");
    await page.locator('.message[data-phase="done"]').waitFor();
    const said = await words(page.locator(".message.answer .prose"));
    await installed(chat);
    await own.stop();
    await page.reload();
    await page.getByText("Die Chats sind hier, und die Seite verbindet sich von selbst neu.").waitFor();
    assert.equal(await words(page.locator(".message.answer .prose")), said);
    await page.getByRole("button", { name: "Einstellungen", exact: true }).click();
    await page.getByLabel("Anweisungen").waitFor(); // a part that was never opened before
    const kept = await page.evaluate(async () => {
      const all: string[] = [];
      for (const name of await caches.keys())
        for (const { url } of await (await caches.open(name)).keys()) all.push(new URL(url).pathname);
      return all;
    });
    assert.ok(kept.includes("/x/") && kept.includes("/x/theme.js"), kept.join(" "));
    assert.deepEqual(
      kept.filter((path) => path.includes("/zh-hans-")),
      [],
      "texts that nobody reads",
    );
    for (const path of kept) assert.match(path, /^\/x\/(assets\/[\w-]+(\.worker)?[\w.-]+|[\w-]+\.\w+|)$/);
    const again = await Server.start({ flags: ["--api-prefix", "/x"], address: own.address });
    await chat.online();
    await again.stop();
  },
);

/** Stands before the server, and serves its page as that of a later build when it is told to. */
class Upgrading {
  private readonly sockets = new Set<Socket>();
  later = false;
  private entry = "";

  private constructor(
    private readonly target: URL,
    private readonly listener: ReturnType<typeof createServer>,
  ) {}

  static async start(target: string): Promise<Upgrading> {
    const page = await (await fetch(target)).text();
    const listener = createServer();
    const proxy = new Upgrading(new URL(target), listener);
    proxy.entry = /index-([\w-]+)\.js/.exec(page)?.[1] ?? "";
    listener.on("request", (from, to) => proxy.pass(from, to));
    listener.on("upgrade", (from, near, head) => proxy.join(from, near, head));
    listener.on("connection", (socket: Socket) => {
      proxy.sockets.add(socket);
      socket.on("error", () => {}); // "close" follows
      socket.on("close", () => proxy.sockets.delete(socket));
    });
    listener.listen(0, "127.0.0.1");
    await once(listener, "listening");
    return proxy;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.listener.address() as AddressInfo).port}`;
  }

  cut(): void {
    for (const socket of this.sockets) socket.destroy();
  }

  stop(): void {
    this.listener.close();
    this.cut();
  }

  /** The name of the script of this build, or of the later one. */
  script(later = this.later): string {
    return later ? `index-later${this.entry}.js` : `index-${this.entry}.js`;
  }

  private pass(from: IncomingMessage, to: ServerResponse): void {
    const { "accept-encoding": _, ...headers } = from.headers;
    const path = (from.url ?? "/").replace(this.script(), this.script(false));
    const asked = request(new URL(path, this.target), { method: from.method, headers }, async (answer) => {
      const parts: Buffer[] = [];
      for await (const part of answer) parts.push(part);
      let body = Buffer.concat(parts);
      if (/text|javascript/.test(answer.headers["content-type"] ?? ""))
        body = Buffer.from(body.toString().replaceAll(this.script(false), this.script()));
      const { "content-length": __, "transfer-encoding": ___, ...rest } = answer.headers;
      to.writeHead(answer.statusCode ?? 500, rest).end(body);
    });
    asked.on("error", () => to.destroy());
    from.pipe(asked);
  }

  private join(from: IncomingMessage, near: Duplex, head: Buffer): void {
    const far = connect(Number(this.target.port), this.target.hostname, () => {
      const lines = Object.entries(from.headers);
      far.write(`GET ${from.url} HTTP/1.1\r\n${lines.map(([n, v]) => `${n}: ${v}\r\n`).join("")}\r\n`);
      far.write(head);
      near.pipe(far).pipe(near);
    });
    far.on("error", () => near.destroy());
    near.on("close", () => far.destroy());
  }
}

/** The pages that this browser keeps. */
function keptPages(page: Page): Promise<string[]> {
  return page.evaluate(async () => {
    const open = (await caches.keys()).map(async (name) => (await caches.open(name)).match("./"));
    return Promise.all((await Promise.all(open)).map(async (page) => (await page?.text()) ?? ""));
  });
}

test(
  "Page: after an upgrade of the server it offers the new page, which one reload brings",
  options,
  async () => {
    const proxy = await Upgrading.start(server.url);
    const chat = await ChatPage.open(proxy.url, allowed, (page) => page.clock.install());
    const { page } = chat;
    const script = () => page.evaluate(() => document.querySelector<HTMLScriptElement>("[type=module]")?.src);
    await chat.online();
    await installed(chat);
    await page.reload();
    await chat.online();
    assert.match((await script()) ?? "", new RegExp(`${proxy.script()}$`));
    const offer = page.getByText("The server has a newer version of this page.");
    assert.equal(await offer.count(), 0, "the page is taken for an old one");
    proxy.later = true;
    proxy.cut();
    await offer.waitFor();
    await page.getByRole("button", { name: "Reload" }).click();
    await page.waitForFunction((name) => document.querySelector(`[src$="${name}"]`) !== null, proxy.script());
    await chat.online();
    const isNew = (html: string) => html.includes(proxy.script());
    // The service worker of the later build takes over, and forgets the files of the one before.
    for (const end = Date.now() + patience; !(await keptPages(page)).every(isNew); )
      assert.ok(Date.now() < end, `kept are ${await keptPages(page)}`);
    assert.equal(await offer.count(), 0, "the page is offered again");
    proxy.stop();
    await page.reload();
    await page.getByText("Not connected:").waitFor();
    assert.match((await script()) ?? "", new RegExp(`${proxy.script()}$`));
  },
);
