// SPDX-License-Identifier: MIT

// The way between the versions of a message: "2 of 3".
import type { Chat } from "../../chats/chat.ts";
import { t } from "../../language/language.ts";
import { mostInSettings } from "../../settings/settings.ts";
import { Icon } from "../icon.tsx";
import { focusMessage } from "./focus.ts";

const previous = t("Previous version");
const next = t("Next version");

/** Which of several messages in one place this is, and the way to the others. */
export function Versions({ chat, id }: { chat: Chat; id: string }) {
  const siblings = chat.tree.siblings(id);
  if (siblings.length < 2) return null;
  const at = siblings.indexOf(id);
  const answers = chat.tree.node(id).peek().role === "assistant";
  const beside = chat.beside.value;
  return (
    <span class="branches">
      <Step chat={chat} to={siblings[at - 1]} name={previous} icon="left" />
      <span>{t("{n} of {all}", { n: at + 1, all: siblings.length })}</span>
      <Step chat={chat} to={siblings[at + 1]} name={next} icon="right" />
      {answers && !beside.includes(id) && (
        <button
          type="button"
          class="action"
          aria-label={t("Side by side")}
          title={t("Show the versions side by side")}
          onClick={() => {
            chat.beside.value = around(siblings, at);
          }}
        >
          <Icon name="columns" />
        </button>
      )}
    </span>
  );
}

/** As many versions as fit beside each other, the one at this place among them. */
function around(versions: readonly string[], at: number): readonly string[] {
  const from = Math.max(0, Math.min(at, versions.length - mostInSettings.columns));
  return versions.slice(from, from + mostInSettings.columns);
}

interface StepProps {
  chat: Chat;
  to: string | undefined;
  name: string;
  icon: "left" | "right";
}

function Step({ chat, to, name, icon }: StepProps) {
  const step = ({ currentTarget }: { currentTarget: Element }) => {
    if (to === undefined) return;
    focusMessage(to, name, currentTarget);
    chat.tree.show(to);
  };
  return (
    <button
      type="button"
      class="action"
      aria-label={name}
      title={`${name} (${icon === "left" ? "←" : "→"})`}
      aria-disabled={to === undefined}
      onClick={step}
    >
      <Icon name={icon} />
    </button>
  );
}

/** With the focus on a button of a message the arrows go to its other versions. */
export function stepOnArrow(chat: Chat, id: string): (event: KeyboardEvent) => void {
  return (event) => {
    const by = event.key === "ArrowLeft" ? -1 : event.key === "ArrowRight" ? 1 : 0;
    if (by === 0 || event.altKey || event.ctrlKey || event.metaKey || event.shiftKey) return;
    if (!(event.target instanceof Element) || event.target.closest(".tools") === null) return;
    const siblings = chat.tree.siblings(id);
    const to = siblings[siblings.indexOf(id) + by];
    if (to === undefined) return;
    event.preventDefault();
    focusMessage(to, by < 0 ? previous : next, event.target);
    chat.tree.show(to);
  };
}
