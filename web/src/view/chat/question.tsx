// SPDX-License-Identifier: MIT
import { visible } from "../../text/bidi.ts";
import { Action, CopyAction } from "./action.tsx";
import { Branches, stepOnArrow } from "./branches.tsx";
import { Editor } from "./editor.tsx";
import { Files } from "./files.tsx";
import { focusField } from "./focus.ts";
import type { MessageProps } from "./message.tsx";
import { useRemove } from "./remove.ts";

/** What a person asked. */
export function Question({ chat, id, editing }: MessageProps) {
  const { content, files = [] } = chat.tree.node(id).value;
  const remove = useRemove(chat, id);
  if (editing.value === id) {
    const close = () => {
      editing.value = undefined;
      focusField();
    };
    return (
      <section class="message">
        <Editor
          label="Edit your message"
          action="Send"
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
    <section class="message" aria-label="Your message" data-message={id} onKeyDown={stepOnArrow(chat, id)}>
      <div class="question">
        <Files files={files} />
        {content !== "" && (
          <p>
            {visible(content).map(({ text, control }) =>
              control ? <span class="control" data-name={control} /> : text,
            )}
          </p>
        )}
      </div>
      <div class="tools asked">
        <Branches chat={chat} id={id} />
        <CopyAction text={() => content} />
        <Action
          icon="edit"
          name="Edit"
          onClick={() => {
            editing.value = id;
          }}
        />
        <Action icon="trash" name="Delete" onClick={remove} />
      </div>
    </section>
  );
}
