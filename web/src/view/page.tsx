// SPDX-License-Identifier: MIT

// The whole page, and which view it shows.
import { t } from "../language/language.ts";
import { useApp } from "./appcontext.ts";
import { ChatView } from "./chat/chatview.tsx";
import { DrawerView } from "./drawer.tsx";
import { Header } from "./header.tsx";
import { KeyDialog } from "./keydialog.tsx";
import { Lazy } from "./lazy.tsx";
import { Palette } from "./palette/palette.tsx";
import { Outage } from "./serverstatus.tsx";
import { Shortcuts } from "./shortcuts/shortcutshelp.tsx";
import { Sidebar } from "./sidebar/sidebar.tsx";
import { Toast } from "./toast.tsx";

const plugins = () => import("./plugins/pluginsview.tsx");
const models = () => import("./models/modelsview.tsx");
const live = () => import("./live/liveview.tsx");

/** The whole page. */
export function Page() {
  const { view, layout } = useApp();
  const covered = layout.narrow.value && layout.sidebar.value; // the sidebar then has the toasts
  return (
    <>
      <button type="button" class="skip" onClick={() => document.getElementById("question")?.focus()}>
        {t("Skip to the message field")}
      </button>
      <Sidebar />
      <Header />
      <Outage />
      {view.value === "chat" && <ChatView />}
      {view.value === "models" && <Lazy key="models" load={models} />}
      {view.value === "plugins" && <Lazy key="plugins" load={plugins} />}
      {view.value === "live" && <Lazy key="live" load={live} />}
      {view.value === "chat" && <DrawerView />}
      {!covered && <Toast />}
      <KeyDialog />
      <Shortcuts />
      <Palette />
    </>
  );
}
