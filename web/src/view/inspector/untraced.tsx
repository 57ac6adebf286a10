// SPDX-License-Identifier: MIT

// What the inspector says of an answer without a trace.
import type { Chat } from "../../chats/chat.ts";
import { t } from "../../language/language.ts";
import { tracedAgain } from "../../trace/variations.ts";
import { useApp } from "../appcontext.ts";

/** What the inspector says of an answer without a trace, and the way to one with it. */
export function Untraced({ chat, id }: { chat: Chat; id: string }) {
  const { connection, drawer } = useApp();
  const seed = chat.tree.node(id).value.answer?.seed;
  const online = connection.status.value.kind === "online";
  const answerAgain = () => {
    const settings = chat.settings.peek();
    chat.settings.value = { ...settings, trace: true };
    const run = chat.answerAgain(id, tracedAgain(settings, seed));
    drawer.value = { kind: "inspector", message: run.id, token: 0 };
  };
  return (
    <div class="untraced">
      <p>
        <strong>{t("This answer has no token record.")}</strong>
      </p>
      <p>
        {t(
          "A token record tells of each token what the model found likely, what every stage and plugin made of it, what was taken back, and how long all that took. It costs a little speed and about 5 KB a token, so it is off until you want it.",
        )}
      </p>
      <button type="button" class="primary" disabled={!online} onClick={answerAgain}>
        {t("Answer again with a token record")}
      </button>
      <p class="hint">
        {seed === undefined ? "" : `${t("With the same seed the answer stays the same.")} `}
        {t("From then on this chat keeps token records; you can switch that off in Settings.")}
      </p>
    </div>
  );
}
