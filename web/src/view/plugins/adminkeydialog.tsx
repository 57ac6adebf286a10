// SPDX-License-Identifier: MIT

// The dialog that asks for the admin key.
import { useSignal } from "@preact/signals";
import { useLayoutEffect, useRef } from "preact/hooks";
import { KeyField } from "../keyfield.tsx";
import { useCatalog } from "./catalogcontext.ts";

/** Asks for the admin key when the host wants it for what a person did. */
export function AdminDialog() {
  const { keyQuestion } = useCatalog();
  const dialog = useRef<HTMLDialogElement>(null);
  const key = useSignal("");
  const remember = useSignal(false);
  const question = keyQuestion.value;
  useLayoutEffect(() => {
    if (question === undefined) dialog.current?.close();
    else if (dialog.current?.open === false) dialog.current.showModal();
  }, [question]);
  const answer = (given: string | undefined) => {
    key.value = "";
    question?.answer(given, remember.peek());
  };
  return (
    <dialog
      class="admin-key"
      aria-labelledby="admin-key-title"
      ref={dialog}
      onCancel={(event) => {
        event.preventDefault();
        answer(undefined);
      }}
    >
      <form
        onSubmit={(event) => {
          event.preventDefault();
          answer(key.peek().trim());
        }}
      >
        <h2 id="admin-key-title">Admin key</h2>
        <p class="hint">
          To change the plugins of this server takes the key that it was started with (
          <code>--admin-key</code>).
        </p>
        <KeyField label="Admin key" value={key} refused={question?.refused === true} autocomplete="off" />
        <label class="check">
          <input
            type="checkbox"
            role="switch"
            class="switch"
            aria-checked={remember.value}
            checked={remember.value}
            onChange={(event) => {
              remember.value = event.currentTarget.checked;
            }}
          />
          <span>
            Remember it in this browser
            <small>Otherwise it is forgotten when this tab is closed.</small>
          </span>
        </label>
        <footer>
          <button type="button" class="quiet" onClick={() => answer(undefined)}>
            Cancel
          </button>
          <button type="submit" class="primary">
            Continue
          </button>
        </footer>
      </form>
    </dialog>
  );
}
