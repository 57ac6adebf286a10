// SPDX-License-Identifier: MIT

// A question in the chat, and the buttons below it.
import { useSignal } from "@preact/signals";
import { useId } from "preact/hooks";
import { t } from "../../language/language.ts";
import { splitControls } from "../../text/bidi.ts";
import { hasEndlessWord } from "../../text/longwords.ts";
import { focusField } from "./focus.ts";
import { CopyAction, MessageAction } from "./messageaction.tsx";
import { MessageEditor } from "./messageeditor.tsx";
import type { MessageProps } from "./messageprops.ts";
import { QuestionFiles } from "./questionfiles.tsx";
import { useRemove } from "./removemessage.ts";
import { stepOnArrow, Versions } from "./versions.tsx";

/** What a person asked. */
export function Question({ chat, id, editing }: MessageProps) {
  const { content, files = [] } = chat.tree.node(id).value;
  const remove = useRemove(chat, id);
  const childless = chat.tree.leaf?.id === id; // its answer was deleted
  const { run } = chat;
  const answer = () => {
    chat.answerAgain(id);
    focusField();
  };
  if (editing.value === id) {
    const close = () => {
      editing.value = undefined;
      focusField();
    };
    return (
      <section class="message">
        <MessageEditor
          label={t("Edit your message")}
          action={t("Send")}
          text={content}
          files={files}
          onCancel={close}
          onDone={(text, kept) => {
            close();
            chat.edit(id, text, kept);
          }}
        />
      </section>
    );
  }
  return (
    <section
      class="message"
      aria-label={t("Your message")}
      data-message={id}
      onKeyDown={stepOnArrow(chat, id)}
    >
      <div class="question">
        <QuestionFiles files={files} />
        {content !== "" && <Words text={content} />}
      </div>
      <div class="tools asked">
        <Versions chat={chat} id={id} />
        {childless && run === undefined && (
          <MessageAction icon="again" name={t("verb|Answer")} words onClick={answer} />
        )}
        <MessageAction
          icon="edit"
          name={t("Edit")}
          onClick={() => {
            editing.value = id;
          }}
        />
        <CopyAction text={() => content} />
        <MessageAction icon="trash" name={t("Delete")} apart onClick={remove} />
      </div>
    </section>
  );
}

const long = { characters: 1200, lines: 14 }; // what is longer is folded

/** The text of a question. A long one shows its beginning until the rest is asked for. */
function Words({ text }: { text: string }) {
  const id = useId();
  const folds = text.length > long.characters || text.split("\n", long.lines + 1).length > long.lines;
  const open = useSignal(false);
  const folded = folds && !open.value;
  return (
    <>
      <p id={id} dir="auto" data-folded={folded} data-endless={hasEndlessWord(text) ? "" : undefined}>
        {splitControls(text).map(({ text: piece, control }) =>
          control ? <span class="control" data-name={control} /> : piece,
        )}
      </p>
      {folds && (
        <button
          type="button"
          class="link"
          aria-expanded={!folded}
          aria-controls={id}
          onClick={() => {
            open.value = !open.peek();
          }}
        >
          {folded ? t("Show all") : t("Show less")}
        </button>
      )}
    </>
  );
}
