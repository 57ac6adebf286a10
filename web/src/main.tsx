// SPDX-License-Identifier: MIT
import { effect, signal } from "@preact/signals";
import { render } from "preact";
import { followAddress } from "./address.ts";
import { App, AppProvider } from "./app.ts";
import { openStore } from "./chats/store.ts";
import { Tabs } from "./chats/tabs.ts";
import { KeyKeeper } from "./host/key.ts";
import { StartingSettings } from "./settings/starting.ts";
import { CarefulStorage } from "./storage.ts";
import { Page } from "./view/page.tsx";

const base = new URL(".", location.href);
const storage = new CarefulStorage(() => localStorage);
const unkept = signal("");
const store = await openStore((problem) => {
  unkept.value = problem;
});
const app = new App(
  base,
  new KeyKeeper(storage),
  new StartingSettings(storage),
  store,
  store.lasts ? new Tabs() : undefined, // which tell each other of what is in the store
);
effect(() => {
  if (unkept.value !== "") app.notice.value = unkept.value;
});
await app.chats.load();
followAddress(app);
render(
  <AppProvider value={app}>
    <Page />
  </AppProvider>,
  document.body,
);
document.addEventListener("visibilitychange", () => app.chats.flush());
window.addEventListener("pagehide", () => {
  app.traces.flush();
  app.answers.leave();
  app.chats.flush();
});
void app.connection.connect();
