// SPDX-License-Identifier: MIT

// The drawer beside the chat, which holds the settings, the script or the inspector.
import type { ComponentChildren } from "preact";
import { t } from "../language/language.ts";
import { useApp } from "./appcontext.ts";
import { useCover } from "./cover.ts";
import { onEscape } from "./escape.ts";
import { Icon } from "./icon.tsx";
import { Lazy } from "./lazy.tsx";

const parts = {
  settings: { title: t("Settings"), load: () => import("./settings/settingsview.tsx") },
  script: { title: t("Script"), load: () => import("./script/scriptview.tsx") },
  inspector: { title: t("Inspector"), load: () => import("./inspector/inspectorview.tsx") },
};

/**
 * What stands beside the chat: its settings, its script, or the inspector. On a narrow screen it
 * covers the chat, and keeps the focus.
 */
export function DrawerView() {
  const { drawer, layout } = useApp();
  const shown = drawer.value;
  if (shown === undefined) return null;
  const { title, load } = parts[shown.kind];
  const close = () => {
    drawer.value = undefined;
  };
  const Frame = layout.tight.value ? Cover : Beside;
  return (
    <Frame title={title} close={close}>
      <header>
        <h2>{title}</h2>
        <button
          type="button"
          class="quiet"
          aria-label={t("Close {title}", { title })}
          title={t("Close (Esc)")}
          onClick={close}
        >
          <Icon name="close" />
        </button>
      </header>
      <Lazy<object> key={shown.kind} load={load} />
    </Frame>
  );
}

interface FrameProps {
  title: string;
  close(): void;
  children: ComponentChildren;
}

function Beside({ title, close, children }: FrameProps) {
  return (
    <aside class="drawer" aria-label={title} onKeyDown={onEscape(close)}>
      {children}
    </aside>
  );
}

function Cover({ title, close, children }: FrameProps) {
  const dialog = useCover();
  return (
    <dialog class="drawer" aria-label={title} ref={dialog} onClose={close}>
      {children}
    </dialog>
  );
}
