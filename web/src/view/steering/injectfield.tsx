// SPDX-License-Identifier: MIT

// The field whose text is put into a running answer.
import { useSignal } from "@preact/signals";
import { useId } from "preact/hooks";
import type { RunningAnswer } from "../../chats/runninganswer.ts";
import { t } from "../../language/language.ts";
import { withSpace } from "./injectspacing.ts";

/** A field whose text becomes a part of the answer. */
export function InjectField({ run }: { run: RunningAnswer }) {
  const id = useId();
  const draft = useSignal("");
  const submit = (event: Event) => {
    event.preventDefault();
    if (draft.peek() === "") return;
    run.inject(withSpace(run.message.peek().content, draft.peek()));
    draft.value = "";
  };
  return (
    <form class="inject" onSubmit={submit}>
      <label for={id} class="hidden">
        {t("Write into the answer")}
      </label>
      <div class="inject-line">
        <textarea
          id={id}
          rows={1}
          autocomplete="off"
          placeholder={t("Write into the answer")}
          aria-describedby={`${id}-help`}
          value={draft}
          onInput={(event) => {
            draft.value = event.currentTarget.value;
          }}
          onKeyDown={(event) => {
            if (event.key === "Enter" && !event.shiftKey) submit(event);
          }}
        />
        <button type="submit" class="quiet insert" disabled={draft.value === ""}>
          {t("Insert")}
        </button>
      </div>
      <small id={`${id}-help`} class="hidden">
        {t(
          "It is added at the end as if the model had written it, with a space before it where a new word begins.",
        )}
      </small>
    </form>
  );
}
