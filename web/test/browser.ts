// SPDX-License-Identifier: MIT
import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { afterEach } from "node:test";
import { type Browser, type BrowserContextOptions, chromium, type Locator, type Page } from "playwright-core";
import type { Message } from "../src/chats/message.ts";
import type { Settings } from "../src/settings/settings.ts";
import type { Server } from "./server.ts";
import { Shared } from "./shared.ts";
import { long as longTest } from "./steady.ts";

const candidates = [
  process.env.CHROMIUM,
  "/usr/lib/chromium/chromium-headless-shell", // has no windows: the tests take a quarter less processor time
  "/usr/bin/chromium",
  "/usr/bin/chromium-browser",
  "/usr/bin/google-chrome",
];
/**
 * Milliseconds; the machine may be busy with other tests. Who writes a test may want to see it
 * fail sooner.
 */
export const patience = Number(process.env.TEST_PATIENCE ?? 120_000);

// Features of Chromium that are off: those that Playwright switches off, since Chromium takes only
// the last list, and the suggestions below the address field, two pages for each window, which
// took most of the time that a new context needs.
const off = [
  ...["AvoidUnnecessaryBeforeUnloadCheckSync", "BoundaryEventDispatchTracksNodeRemoval"],
  ...["DestroyProfileOnBrowserClose", "DialMediaRouteProvider", "GlobalMediaControls", "HttpsUpgrades"],
  ...["LensOverlay", "MediaRouter", "OptimizationHints", "PaintHolding", "RenderDocument"],
  ...["ThirdPartyStoragePartitioning", "Translate", "WebUIOmniboxAimPopup", "WebUIOmniboxPopup"],
];

/** Debian's Chromium; Playwright's own browsers are not downloaded. It gets a fresh profile. */
export async function launch(): Promise<Browser> {
  const executablePath = candidates.find((path) => path !== undefined && existsSync(path));
  if (executablePath === undefined) {
    throw new Error("Chromium is missing: run `make setup-test`, or set CHROMIUM to its path");
  }
  return chromium.launch({
    executablePath,
    args: [
      "--no-sandbox", // it runs as root in CI, and opens only pages of ours
      "--disable-gpu",
      "--disable-quic",
      "--no-first-run",
      "--font-render-hinting=none", // letters as wide as in a browser with windows
      "--disable-background-networking",
      "--disable-component-update",
      "--disable-sync",
      "--renderer-process-limit=1", // of a context: its empty first page would have one for itself
      `--disable-features=${off.join()}`,
      "--use-fake-device-for-media-stream", // a microphone that beeps
      "--use-fake-ui-for-media-stream", // without windows nobody could be asked for it
    ],
  });
}

/** For ChatPage.open: the page moves, as it does for most people. */
export const moving = { reducedMotion: "no-preference" } satisfies BrowserContextOptions;

const shared = new Shared(launch, (browser) => browser.close());

/** Gives a test file the shared browser. All of its pages are closed after each test. */
export function useBrowser(): void {
  shared.use();
  afterEach(async () => {
    for (const context of shared.it.contexts()) await context.close();
  });
}

/** Characters that a drawn answer may lose while it grows: marks that turn out to be formatting. */
export const marks = 20;

/** Finds the last message, once it has ended and is drawn. */
export const ended = '.message:last-child[data-phase="done"]:not(:has([aria-busy="true"]))';

/** All that a message says, its folded parts too. */
export async function words(message: Locator): Promise<string> {
  return (await message.textContent()) ?? "";
}

/**
 * Lets new chats begin with these settings, as if a person had chosen them. For ChatPage.open's
 * prepare.
 */
export function withSettings(settings: Partial<Settings>): (page: Page) => Promise<unknown> {
  return (page) =>
    page.addInitScript((kept) => localStorage.setItem("penstock.settings", kept), JSON.stringify(settings));
}

/**
 * Settings for answers as long as maxTokens, whatever the model thinks. The server is slow while
 * the page is open.
 */
export function long(
  server: Pick<Server, "slow">,
  maxTokens: number,
  sampling: Settings["sampling"] = {},
): (page: Page) => Promise<unknown> {
  return (page) => {
    page.once("close", server.slow());
    return withSettings({ sampling: { max_tokens: maxTokens, ignore_eos: true, ...sampling } })(page);
  };
}

/** Notes the requests that a page sends, from now on. For ChatPage.open's prepare. */
export function noteRequests<T>(page: Page, requests: T[]): void {
  page.on("websocket", (socket) =>
    socket.on("framesent", ({ payload }) => {
      const frame = JSON.parse(String(payload));
      if (frame.type === "generate") requests.push(frame.request);
    }),
  );
}

/** Chooses from a menu, whose button may be there only while the mouse is near. */
export async function chooseFrom(page: Page, menu: string, item: string): Promise<void> {
  await page.getByRole("button", { name: menu, exact: true }).click({ force: true });
  await page.getByRole("menuitem", { name: item, exact: true }).click();
}

/** Chooses a model from the list that a button opens. */
export async function choose(button: Locator, model: string): Promise<void> {
  await button.press("Enter");
  const page = button.page();
  await page.getByRole("combobox", { name: "Find a model" }).fill(model);
  await page
    .getByRole("option", { name: new RegExp(`^${model}`) })
    .first()
    .click();
}

/** The messages of the browser's store, once one of them is as it should be. */
export async function stored(page: Page, fits: (answer: Message) => boolean): Promise<Message> {
  for (const end = Date.now() + patience; Date.now() < end; ) {
    const all = await page.evaluate(
      () =>
        new Promise<unknown[]>((resolve, reject) => {
          const opening = indexedDB.open("penstock");
          opening.onerror = () => reject(opening.error);
          opening.onsuccess = () => {
            const db = opening.result;
            const reading = db.transaction("messages").objectStore("messages").getAll();
            reading.onsuccess = () => {
              db.close();
              resolve(reading.result);
            };
          };
        }),
    );
    const found = (all as Message[]).find((m) => m.answer !== undefined && fits(m));
    if (found !== undefined) return found;
    await page.waitForTimeout(20); // looking takes time from what writes it
  }
  throw new Error("the store has no such answer");
}

/** Chats keep their first titles, unless a test switches on those by the model. */
function keepTitles(): void {
  try {
    localStorage["penstock.page"] ??= '{"titles":false}';
  } catch {
    // the page may store nothing
  }
}

/** A page of the UI as a person sees it. What the browser complains about is collected. */
export class ChatPage {
  readonly complaints: string[] = [];
  readonly question: Locator;
  readonly send: Locator;
  readonly stop: Locator;
  readonly status: Locator;
  readonly answers: Locator;

  private constructor(readonly page: Page) {
    this.question = page.getByRole("textbox", { name: "Your message" });
    this.send = page.getByRole("button", { name: "Send" });
    this.stop = page.getByRole("button", { name: "Stop" });
    this.status = page.locator("#status");
    this.answers = page.getByRole("article", { name: "Answer" });
    page.setDefaultTimeout(patience);
    page.on("pageerror", (error) => this.complaints.push(String(error)));
    page.on("console", (message) => {
      // The picker's question for plugins may be answered with 404; a browser logs that by itself.
      if (message.type() === "error" && !message.text().startsWith("Failed to load resource")) {
        this.complaints.push(message.text());
      }
    });
  }

  /**
   * Opens url in a context of its own; prepare may still change what the page gets to see. In the
   * shared browser the page moves little unless it is asked to; who brings a browser measures.
   */
  static async open(
    url: string,
    options: BrowserContextOptions = {},
    prepare: (page: Page) => Promise<unknown> = async () => {},
    browser?: Browser,
  ): Promise<ChatPage> {
    const context = await (browser ?? shared.it).newContext({
      serviceWorkers: "block",
      ...(browser !== undefined || longTest ? moving : { reducedMotion: "reduce" }), // half as much to draw
      ...options,
    });
    await context.addInitScript(keepTitles);
    const page = await context.newPage();
    await prepare(page);
    const chat = new ChatPage(page);
    await page.goto(url);
    return chat;
  }

  async close(): Promise<void> {
    await this.page.context().close();
  }

  async online(): Promise<void> {
    await this.page.locator('#status[data-kind="online"]').waitFor();
  }

  async ask(text: string): Promise<void> {
    await this.online();
    await this.question.fill(text);
    const breaks = (await this.question.getAttribute("enterkeyhint")) === "enter"; // on a phone
    if (breaks) await this.send.tap();
    else await this.question.press("Enter");
  }

  /** The last answer, once it has ended and is drawn. */
  async finished(): Promise<Locator> {
    await this.page.locator(ended).waitFor();
    return this.answers.last();
  }

  /**
   * Begins to note each length that the last answer's text has while it is drawn; read it with
   * lengths.
   */
  async watchLengths(): Promise<void> {
    await this.page.getByRole("log").waitFor();
    await this.page.evaluate(() => {
      const seen: number[] = [];
      Object.assign(window, { lengths: seen });
      const log = document.querySelector('[role="log"]');
      if (log === null) throw new Error("there is no log");
      new MutationObserver(() => {
        const length = log.querySelector(".message:last-child .prose")?.textContent?.length ?? 0;
        if (length > 0 && length !== seen.at(-1)) seen.push(length);
      }).observe(log, { childList: true, subtree: true, characterData: true });
    });
  }

  /** Fails if the answer has lost more than marks since watchLengths. */
  async onlyGrew(): Promise<void> {
    const lengths = await this.lengths();
    const shrunk = lengths.filter((length, at) => length <= (lengths[at - 1] ?? 0) - marks);
    assert.deepEqual(shrunk, [], "the answer shrank while it grew");
  }

  lengths(): Promise<number[]> {
    return this.page.evaluate(() => (window as unknown as { lengths: number[] }).lengths);
  }

  /** Resolves when the answer was seen at n lengths. */
  async growing(n: number): Promise<void> {
    await this.page.waitForFunction(
      (wanted) => (window as unknown as { lengths: number[] }).lengths.length >= wanted,
      n,
    );
  }
}
