// SPDX-License-Identifier: MIT

// Keeps the browser's address and the app in step.
import { effect, signal } from "@preact/signals";
import type { App, View } from "./app.ts";
import { t } from "./language/language.ts";

/**
 * What the part of the address behind # names: "#/chat/ID", "#/models", "#/plugins", "#/live",
 * "#/script/TEXT" with a script that was shared, or a new chat.
 */
export function parseAddress(hash: string): { view: View; chat?: string; script?: string } {
  const [, script] = /^#\/script\/([\w-]+)$/.exec(hash) ?? [];
  if (script !== undefined) return { view: "chat", script };
  const [, view, id] = /^#\/(\w+)(?:\/(\w+))?$/.exec(hash) ?? [];
  if (view === "models" || view === "plugins" || view === "live") return { view };
  return view === "chat" && id !== undefined ? { view: "chat", chat: id } : { view: "chat" };
}

export function addressOf(view: View, chat: string | undefined): string {
  if (view !== "chat") return `#/${view}`;
  return chat === undefined ? "#/" : `#/chat/${chat}`;
}

const longest = 20_000; // characters of a question in the address

// Characters that nobody sees, in which a link could hide words from the person who sends them. The
// joiners of letters and emoji, and what colours emoji, stay.
const unseen = /(?![\n\t])\p{Cc}|(?!\u200C|\u200D|\uFE0E|\uFE0F)\p{Default_Ignorable_Code_Point}/gu;

/** The question in the part of the address behind "?": "?q=TEXT". */
export function questionOf(search: string): string {
  const text = new URLSearchParams(search).get("q") ?? "";
  return text.replaceAll("\r\n", "\n").replace(unseen, "").trim().slice(0, longest);
}

/**
 * Writes the question of a link into the field of a new chat. It is not sent: whoever made the link
 * must not make the page ask anything, or call tools.
 */
function fill(app: App, text: string): void {
  app.view.value = "chat";
  if (app.chats.current.peek().tree.path.peek().length > 0) app.chats.begin();
  const before = app.drafts.of("").peek().text;
  app.drafts.change("", { text });
  history.replaceState(undefined, "", `${location.pathname}#/`); // a reload fills it in no more
  app.notice.value = t("The question comes from the link. Read it before you send it.");
  if (before.trim() === "" || before === text) return;
  const run = () => app.drafts.change("", { text: before });
  app.offer.value = { text: t("It has taken the place of your draft."), action: t("Undo"), run };
}

/**
 * Shows what the address names, then keeps the two in step, so that the browser's buttons and a
 * reload work.
 */
export async function followAddress(app: App): Promise<void> {
  const asked = questionOf(location.search);
  const going = signal(0); // to what the address names: until it is shown, the address stays
  let led = true; // by the address; else it follows
  const follow = async () => {
    going.value++;
    await go(app);
    led = true;
    going.value--;
    led = false;
  };
  await follow();
  if (asked !== "") fill(app, asked);
  window.addEventListener("hashchange", () => void follow());
  led = true;
  effect(() => {
    if (going.value > 0) return;
    const chat = app.chats.current.value;
    const kept = chat.tree.path.value.length > 0;
    const address = addressOf(app.view.value, kept ? chat.id : undefined);
    const title = app.view.value === "chat" && kept ? chat.title.value : "";
    document.title = title === "" ? "Penstock" : `${title} · Penstock`;
    if (address === (location.hash || "#/")) return;
    if (led) history.replaceState(undefined, "", address);
    else history.pushState(undefined, "", address);
  });
  led = false;
}

async function go(app: App): Promise<void> {
  const { view, chat, script } = parseAddress(location.hash);
  app.view.value = view;
  if (view !== "chat") return;
  if (script !== undefined) void beginWith(app, script);
  if (chat === undefined) {
    if (app.chats.current.peek().tree.path.peek().length > 0) app.chats.begin();
  } else if (!(await app.chats.show(chat))) {
    app.notice.value = t("The chat of this address is not in this browser. It may have been deleted.");
    app.chats.begin();
  }
}

/**
 * Shows a new chat with the script of a link beside it, which is off. Nobody waits for it before
 * the page is drawn: the code that is loaded here itself waits for the page's to have run.
 */
async function beginWith(app: App, text: string): Promise<void> {
  const reading = await import("./scripts/sharedscript.ts").catch(() => undefined);
  const script = reading?.readShared(text);
  if (script === undefined) {
    app.notice.value =
      reading === undefined
        ? t("The script of this link could not be shown, as the server was not reached. Reload the page.")
        : t("This link holds no script. It may have been cut off.");
    return;
  }
  app.chats.begin({ ...app.starting.get(), script });
  app.drawer.value = { kind: "script" };
}
