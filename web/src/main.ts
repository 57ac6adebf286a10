// SPDX-License-Identifier: MIT
import { Chat } from "./chat.ts";
import { Connection } from "./connection.ts";
import { Host, type Plugin } from "./host.ts";
import { Keeper, request } from "./settings.ts";
import { Streams } from "./streams.ts";
import { showComposer } from "./view/composer.ts";
import { byId } from "./view/dom.ts";
import { Follower } from "./view/follower.ts";
import { showKeyDialog } from "./view/key.ts";
import { showNotice } from "./view/notice.ts";
import { SettingsView } from "./view/settings.ts";
import { showStatus } from "./view/status.ts";
import { showTranscript } from "./view/transcript.ts";

const keeper = new Keeper(localStorage);
const host = new Host(new URL(".", location.href), () => keeper.key());
let model = "";
let plugins: Plugin[] = [];

const connection = new Connection({
  probe: async () => {
    const [models, offered] = await Promise.all([host.models(), host.plugins()]);
    model = models[0] ?? "";
    byId("model", HTMLElement).textContent = model;
    plugins = offered;
    settings.offer(plugins);
  },
  socket: () => host.socket(),
});
const chat = new Chat(new Streams(connection), {
  system: () => keeper.settings().system,
  request: (messages) => {
    const offered = plugins.map((plugin) => plugin.name);
    return request(keeper.settings(), model, offered, messages);
  },
});
const settings = new SettingsView(keeper, () => {
  keeper.keepKey("");
  location.reload();
});

showStatus(connection);
showNotice(connection);
showTranscript(chat, new Follower());
showComposer(chat, connection);
showKeyDialog(connection, keeper);
void connection.connect();
