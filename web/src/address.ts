// SPDX-License-Identifier: MIT
import { effect } from "@preact/signals";
import type { App, View } from "./app.ts";

/** What the part of the address behind # names: "#/chat/ID", "#/plugins", "#/live", or a new chat. */
export function parseAddress(hash: string): { view: View; chat?: string } {
  const [, view, id] = /^#\/(\w+)(?:\/(\w+))?$/.exec(hash) ?? [];
  if (view === "plugins" || view === "live") return { view };
  return view === "chat" && id !== undefined ? { view: "chat", chat: id } : { view: "chat" };
}

export function addressOf(view: View, chat: string | undefined): string {
  if (view !== "chat") return `#/${view}`;
  return chat === undefined ? "#/" : `#/chat/${chat}`;
}

/** Keeps the address and what is shown in step, so that the browser's buttons and a reload work. */
export function followAddress(app: App): void {
  const go = () => {
    const { view, chat } = parseAddress(location.hash);
    app.view.value = view;
    if (view !== "chat") return;
    if (chat !== undefined) void app.chats.show(chat);
    else if (app.chats.current.peek().tree.path.peek().length > 0) app.chats.begin();
  };
  go();
  window.addEventListener("hashchange", go);
  effect(() => {
    const chat = app.chats.current.value;
    const address = addressOf(app.view.value, chat.tree.path.value.length > 0 ? chat.id : undefined);
    if (address !== (location.hash || "#/")) history.pushState(undefined, "", address);
  });
}
