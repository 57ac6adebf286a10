// SPDX-License-Identifier: MIT
import { useApp } from "../app.ts";
import { Bar } from "./bar.tsx";
import { ChatView } from "./chat/chat.tsx";
import { DrawerView } from "./drawer.tsx";
import { KeyDialog } from "./key.tsx";
import { Lazy } from "./lazy.tsx";
import { Sidebar } from "./sidebar/sidebar.tsx";

const plugins = () => import("./plugins/plugins.tsx");
const live = () => import("./live/live.tsx");

/** The whole page. */
export function Page() {
  const { view } = useApp();
  return (
    <>
      <a class="skip" href="#question">
        Skip to the message field
      </a>
      <Sidebar />
      <Bar />
      {view.value === "chat" && <ChatView />}
      {view.value === "plugins" && <Lazy key="plugins" load={plugins} />}
      {view.value === "live" && <Lazy key="live" load={live} />}
      {view.value === "chat" && <DrawerView />}
      <KeyDialog />
    </>
  );
}
