// SPDX-License-Identifier: MIT
import { useApp } from "../app.ts";
import { Icon } from "./icon.tsx";
import { Lazy } from "./lazy.tsx";

const settings = () => import("./settings/settings.tsx");
const inspector = () => import("./inspector/inspector.tsx");

/** What stands beside the chat: its settings, or the inspector. On a narrow screen it covers the chat. */
export function DrawerView() {
  const { drawer } = useApp();
  const shown = drawer.value;
  if (shown === undefined) return null;
  const title = shown.kind === "settings" ? "Settings" : "Inspector";
  const close = () => {
    drawer.value = undefined;
  };
  return (
    <aside class="drawer" aria-label={title}>
      <header>
        <h2>{title}</h2>
        <button type="button" class="quiet" aria-label={`Close ${title}`} title="Close" onClick={close}>
          <Icon name="close" />
        </button>
      </header>
      <Lazy key={shown.kind} load={shown.kind === "settings" ? settings : inspector} />
    </aside>
  );
}
