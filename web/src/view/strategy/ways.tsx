// SPDX-License-Identifier: MIT

// What stands above the message field: how the next answer is written, and by which rules.
import { useComputed } from "@preact/signals";
import type { Chat } from "../../chats/chat.ts";
import { strategyWords } from "../../settings/strategies.ts";
import { useApp } from "../appcontext.ts";
import { ChangedSettings } from "../chat/changedsettings.tsx";
import { Icon } from "../icon.tsx";
import { Panel } from "../panel.tsx";

const strategies = () => import("./strategypanel.tsx");
const rules = () => import("./rulespanel.tsx");

/** How the next answer of a chat is written, by which rules, and what else of it is set. */
export function Ways({ chat }: { chat: Chat }) {
  const { plugins } = useApp();
  const strategy = useComputed(() => strategyWords(chat.settings.value, plugins.value));
  const held = useComputed(() => (chat.settings.value.rules ?? []).filter(({ on }) => on).length).value;
  return (
    <div class="ways">
      <Panel label="Strategy" title="How the next answer is written" load={strategies}>
        <Icon name="fork" />
        <span class="hidden">Strategy: </span>
        <span>{strategy}</span>
      </Panel>
      <Panel label="Rules" title="What answers have to obey" load={rules}>
        <Icon name="check" />
        <span>{held === 0 ? "Rules" : held === 1 ? "1 rule" : `${held} rules`}</span>
      </Panel>
      <ChangedSettings chat={chat} />
    </div>
  );
}
