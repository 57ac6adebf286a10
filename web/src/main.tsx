// SPDX-License-Identifier: MIT
import { render } from "preact";
import { followAddress } from "./address.ts";
import { App, AppProvider } from "./app.ts";
import { Store } from "./chats/store.ts";
import { KeyKeeper } from "./host/key.ts";
import { StartingSettings } from "./settings/starting.ts";
import { Page } from "./view/page.tsx";

const base = new URL(".", location.href);
const app = new App(
  base,
  new KeyKeeper(localStorage),
  new StartingSettings(localStorage),
  await Store.open(),
);
await app.chats.load();
followAddress(app);
render(
  <AppProvider value={app}>
    <Page />
  </AppProvider>,
  document.body,
);
void app.connection.connect();
