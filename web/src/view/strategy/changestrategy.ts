// SPDX-License-Identifier: MIT

// Changes how the answers of a chat are written, so that no script is lost by it.
import type { App } from "../../app.ts";
import type { Chat } from "../../chats/chat.ts";
import { t } from "../../language/language.ts";
import { namedScripts } from "../../scripts/namedscripts.ts";
import type { Script, Settings } from "../../settings/settings.ts";

/**
 * Gives a chat settings with another strategy. Where that takes the place of a script which is kept
 * nowhere else, it offers the way back.
 */
export function changeStrategy(
  { offer }: Pick<App, "offer">,
  { settings }: Pick<Chat, "settings">,
  change: (settings: Settings) => Settings,
): void {
  const { script } = settings.peek();
  settings.value = change(settings.peek());
  if (script === undefined || script.source.trim() === "") return;
  const others = [...namedScripts.list.peek(), settings.peek().script];
  if (others.some((other) => other !== undefined && isSame(other, script))) return;
  const run = () => {
    settings.value = { ...settings.peek(), script };
  };
  offer.value = { text: t("The chat has another script now."), action: t("Undo"), run };
}

type Text = Pick<Script, "source" | "config">;

function isSame(one: Text, other: Text): boolean {
  return one.source === other.source && one.config === other.config;
}
