// SPDX-License-Identifier: MIT

// The error of an answer, with the button that helps.
import type { App } from "../../app.ts";
import { contextUsed } from "../../chats/answerfacts.ts";
import type { Chat } from "../../chats/chat.ts";
import type { Message } from "../../chats/message.ts";
import { advice, type HelpfulButton, sizesOf } from "../../host/erroradvice.ts";
import type { HostError } from "../../host/protocol.ts";
import { t } from "../../language/language.ts";
import { tokens } from "../../text/numberformat.ts";
import { useApp } from "../appcontext.ts";
import { focusField } from "./focus.ts";
import type { MessageProps } from "./messageprops.ts";

/**
 * What went wrong with an answer; undefined if nothing did. One that was cut because the chat is
 * too long has no error of its own.
 */
export function problemOf(app: App, { answer }: Message): HostError | undefined {
  const { outcome } = answer ?? {};
  const context = app.contextOf(answer?.model ?? "") ?? 0;
  const full =
    outcome?.reason === "length" && context > 0 && (contextUsed(answer ?? never) ?? 0) >= context - 1;
  if (!full) return outcome?.error;
  return { code: "context_full", message: t("the model holds {tokens}", { tokens: tokens(context) }) };
}

const never = { phase: "done", model: "", seq: -1, tokens: 0, asked: 0 } as const;

/** What went wrong, in a sentence, and the button that helps. */
export function AnswerProblem({ chat, id, editing, error }: MessageProps & { error: HostError }) {
  const app = useApp();
  const edit = () => {
    editing.value = chat.tree.upTo(id).findLast(({ role }) => role === "user")?.id;
  };
  const { timeout_ms: limit } = chat.settings.value.sampling;
  const { said, help, details } = advice(error, typeof limit === "number" ? limit : undefined);
  return (
    <div class="problem" role="alert">
      <strong>{said}</strong>
      <p class="helps">
        {helps(app, chat, id, help, error, edit).map(({ name, run }) => (
          <button key={name} type="button" class="quiet" onClick={run}>
            {name}
          </button>
        ))}
      </p>
      {details !== "" && (
        <details>
          <summary>{t("What the server said")}</summary>
          {details}
        </details>
      )}
    </div>
  );
}

interface Offered {
  name: string;
  run(): void;
}

/** The buttons that help with an answer. */
function helps(
  app: App,
  chat: Chat,
  id: string,
  help: HelpfulButton,
  error: HostError,
  edit: () => void,
): Offered[] {
  const { content, reasoning = "" } = chat.tree.node(id).value;
  const does = (name: string, act: () => void): Offered => ({
    name,
    run: () => {
      act();
      focusField();
    },
  });
  const again = does(t("Try again"), () => chat.answerAgain(id));
  switch (help) {
    case "goOn":
      return content + reasoning === "" ? [again] : [does(t("Continue"), () => chat.goOn(id)), again];
    case "shorter": {
      const share = shareOf(error);
      if (chat.shareOfLast(id) > share) return [{ name: t("Shorten the question"), run: edit }]; // all else would fail again
      const anew = does(t("New chat with this question"), () => ownChat(app, chat, id));
      return [does(t("Answer with a shorter history"), () => chat.answerShorter(id, share)), anew];
    }
    case "settings":
      return [{ name: t("Open Settings"), run: () => (app.drawer.value = { kind: "settings" }) }, again];
    case "plugins":
      return [{ name: t("See Plugins"), run: () => (app.view.value = "plugins") }, again];
    case "reload":
      return [{ name: t("Reload"), run: () => location.reload() }];
    case "again":
      return [again];
    case "none":
      return [];
  }
}

/** How much of the history fits, with room for an answer. */
function shareOf(error: HostError): number {
  const sizes = sizesOf(error);
  return sizes === undefined ? 0.5 : (0.7 * sizes.room) / sizes.sent;
}

/** A new chat with the settings of this one, and its last question to be sent. */
function ownChat(app: App, chat: Chat, id: string): void {
  const question = chat.tree.upTo(id).findLast(({ role }) => role === "user");
  app.chats.begin(chat.settings.peek());
  app.drafts.change("", { text: question?.content ?? "", files: question?.files ?? [] });
}
