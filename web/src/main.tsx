// SPDX-License-Identifier: MIT

// Makes the app and draws the page.
import { effect, signal } from "@preact/signals";
import { render } from "preact";
import { followAddress } from "./address.ts";
import { App } from "./app.ts";
import { openChatStore } from "./chats/chatstore.ts";
import { Drafts } from "./chats/drafts.ts";
import { Tabs } from "./chats/tabs.ts";
import { KeyKeeper } from "./host/apikeys.ts";
import { t } from "./language/language.ts";
import { Layout } from "./layout.ts";
import { Preferences } from "./settings/preferences.ts";
import { StartingSettings } from "./settings/startingsettings.ts";
import { CarefulStorage } from "./storage.ts";
import { ToolServers } from "./tools/toolservers.ts";
import { followBuilds } from "./upgrade.ts";
import { AppProvider } from "./view/appcontext.ts";
import { loadMarkdown } from "./view/chat/markdowncode.ts";
import { hideComposedKeys } from "./view/composedkeys.ts";
import { followTheme } from "./view/followtheme.ts";
import { keepPresses } from "./view/movingbuttons.ts";
import { Page } from "./view/page.tsx";

const base = new URL(".", location.href);
const storage = new CarefulStorage(() => localStorage);
const unkept = signal("");
const preferences = new Preferences(storage);
followTheme(preferences.theme);
keepPresses(document);
hideComposedKeys(document);
const store = await openChatStore(storage, (problem) => {
  unkept.value = problem;
});
const app = new App(
  base,
  new KeyKeeper(storage),
  new StartingSettings(storage),
  new Layout(preferences, matchMedia),
  store,
  new Drafts(storage),
  new ToolServers(storage),
  store.lasts ? new Tabs() : undefined, // which tell each other of what is in the store
);
effect(() => {
  if (unkept.value !== "") app.notice.value = unkept.value;
});
await app.chats.load().catch((error) => {
  app.notice.value = t("The chats of this browser cannot be read: {error}.", { error: `${error}` }); // what is asked now can be answered
});
effect(() => {
  if (app.offer.value === undefined) void store.sweep(); // nothing that was removed can be put back any more
});
await followAddress(app);
const draw = () =>
  render(
    <AppProvider value={app}>
      <Page />
    </AppProvider>,
    document.body,
  );
// Who has chats sees their texts as they are to look. This module must not wait for the code of
// that, which waits for this module.
if (app.chats.list.value.length > 0) void loadMarkdown().then(draw, draw);
else draw();
// Tokens with their records, then the answers that count them.
const flush = () => {
  app.traces.flush();
  app.chats.flush();
};
document.addEventListener("visibilitychange", flush);
window.addEventListener("beforeunload", () => {
  flush(); // while the next page is fetched there is time to write; at its end there is none
  app.connection.leave(true);
  setTimeout(() => app.connection.leave(false), 2000); // the page stays after all, as with a download
});
window.addEventListener("pageshow", ({ persisted }) => {
  if (!persisted) return;
  store.takeOver();
  app.connection.leave(false);
});
window.addEventListener("storage", () => store.takeOver()); // a page in another tab may have been left
window.addEventListener("pagehide", () => {
  app.connection.leave(true);
  app.answers.leave();
  store.leave();
});
followBuilds(app);
void app.connection.connect();
