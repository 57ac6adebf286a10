// SPDX-License-Identifier: MIT

// The list of shortcuts, and what each does.
import type { App } from "../../app.ts";
import { t } from "../../language/language.ts";
import { copyText } from "../clipboard.ts";
import type { Shortcut } from "./shortcutof.ts";

/** What can be done by keys alone. help shows this list, or hides it, and palette the palette. */
export function shortcutsOf(app: App, { help, palette }: { help(): void; palette(): void }): Shortcut[] {
  const { chats, layout } = app;
  const inChat = (run: () => void) => () => {
    app.view.value = "chat";
    run();
  };
  const begin = inChat(() => void chats.begin());
  return [
    { key: "k", ctrl: true, name: t("Find chats and commands"), run: palette },
    { key: "n", name: t("New chat"), run: begin },
    { key: "o", ctrl: true, shift: true, name: t("New chat, also while typing"), run: begin },
    { key: "m", name: t("Go to the message field"), run: inChat(() => focus("question")) },
    { key: "/", name: t("Search chats"), run: () => search(app) },
    { key: "j", name: t("Next chat"), run: inChat(() => step(app, 1)) },
    { key: "k", name: t("Previous chat"), run: inChat(() => step(app, -1)) },
    { key: "c", name: t("Copy the last answer"), run: () => copyAnswer(app) },
    { key: "s", name: t("Settings of the chat"), run: inChat(() => app.toggle("settings")) },
    { key: "e", name: t("Script of the chat"), run: inChat(() => app.toggle("script")) },
    { key: "i", name: t("Inspect the last answer"), run: inChat(() => inspect(app)) },
    { key: "b", name: t("Open or close the sidebar"), run: () => layout.show(!layout.sidebar.peek()) },
    { key: "?", name: t("Keyboard shortcuts"), run: help },
    { key: "/", ctrl: true, name: t("Keyboard shortcuts, also while typing"), run: help },
  ];
}

/** Waits for what the same key may have shown, but for no frame: what is typed next goes there. */
function focus(id: string): void {
  queueMicrotask(() => document.getElementById(id)?.focus()); // Preact draws in a microtask, too
}

function search(app: App): void {
  app.layout.show(true);
  focus("search");
}

function step(app: App, by: number): void {
  const list = app.chats.list.peek();
  const at = list.findIndex((chat) => chat.id === app.chats.current.peek().id);
  const next = list[at < 0 ? 0 : at + by];
  if (next !== undefined) void app.chats.show(next.id);
}

function lastAnswer(app: App) {
  const { tree } = app.chats.current.peek();
  const messages = tree.path.peek().map((id) => tree.node(id).peek());
  return messages.findLast((message) => message.role === "assistant" && message.content !== "");
}

function copyAnswer(app: App): void {
  const answer = lastAnswer(app);
  if (answer === undefined) return;
  copyText(answer.content).then(
    () => {
      app.notice.value = t("The last answer is copied.");
    },
    () => {
      app.notice.value = t("The browser does not let this page copy.");
    },
  );
}

function inspect(app: App): void {
  const answer = lastAnswer(app);
  if (app.drawer.peek()?.kind === "inspector") app.drawer.value = undefined;
  else if (answer !== undefined) app.drawer.value = { kind: "inspector", message: answer.id, token: 0 };
}
