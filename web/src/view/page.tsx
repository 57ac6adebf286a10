// SPDX-License-Identifier: MIT
import { Bar } from "./bar.tsx";
import { ChatView } from "./chat/chat.tsx";
import { useApp } from "./context.ts";
import { DrawerView } from "./drawer.tsx";
import { KeyDialog } from "./key.tsx";
import { Lazy } from "./lazy.tsx";
import { Shortcuts } from "./shortcuts/help.tsx";
import { Sidebar } from "./sidebar/sidebar.tsx";
import { Outage } from "./status.tsx";
import { Toast } from "./toast.tsx";

const plugins = () => import("./plugins/plugins.tsx");
const models = () => import("./models/models.tsx");
const live = () => import("./live/live.tsx");

/** The whole page. */
export function Page() {
  const { view, layout } = useApp();
  const covered = layout.narrow.value && layout.sidebar.value; // the sidebar then has the toasts
  return (
    <>
      <button type="button" class="skip" onClick={() => document.getElementById("question")?.focus()}>
        Skip to the message field
      </button>
      <Sidebar />
      <Bar />
      <Outage />
      {view.value === "chat" && <ChatView />}
      {view.value === "models" && <Lazy key="models" load={models} />}
      {view.value === "plugins" && <Lazy key="plugins" load={plugins} />}
      {view.value === "live" && <Lazy key="live" load={live} />}
      {view.value === "chat" && <DrawerView />}
      {!covered && <Toast />}
      <KeyDialog />
      <Shortcuts />
    </>
  );
}
