// SPDX-License-Identifier: MIT

// Names the settings of a chat that differ from the server's.
import { useComputed } from "@preact/signals";
import type { Chat } from "../../chats/chat.ts";
import { t } from "../../language/language.ts";
import { differences } from "../../settings/differences.ts";
import { withoutStrategy } from "../../settings/strategies.ts";
import { useApp } from "../appcontext.ts";
import { Icon } from "../icon.tsx";

const most = 4; // that are told by name

/**
 * What of the chat's settings is not as the server has it by itself, so that nobody is surprised
 * by it, and the way to change it.
 */
export function ChangedSettings({ chat }: { chat: Chat }) {
  const { drawer, plugins } = useApp();
  // The strategy stands beside this.
  const words = useComputed(() => differences(withoutStrategy(chat.settings.value, plugins.value))).value;
  if (words.length === 0) return null;
  const rest = words.length - most;
  const shown = rest > 1 ? [...words.slice(0, most), t("{n} more", { n: rest })] : words;
  return (
    <button
      type="button"
      class="differs"
      title={t("This chat's settings that differ from the server's")}
      onClick={() => {
        drawer.value = { kind: "settings" };
      }}
    >
      <Icon name="settings" />
      <span class="hidden">{t("Settings of this chat:")} </span>
      <span>{shown.join(" · ")}</span>
    </button>
  );
}
