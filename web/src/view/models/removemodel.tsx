// SPDX-License-Identifier: MIT

// The button that removes a model from the server's folder.
import { useSignal } from "@preact/signals";
import { useLayoutEffect, useRef } from "preact/hooks";

/** Removes a model, after a second question. */
export function RemoveModel({ name, remove }: { name: string; remove(): void }) {
  const asking = useSignal(false);
  const sure = useRef<HTMLButtonElement>(null);
  useLayoutEffect(() => {
    if (asking.value) sure.current?.focus();
  }, [asking.value]);
  const turn = (on: boolean) => () => {
    asking.value = on;
  };
  if (!asking.value) {
    return (
      <button type="button" class="quiet" onClick={turn(true)}>
        Remove<span class="hidden"> {name}</span>
      </button>
    );
  }
  return (
    <>
      <span class="hint">Its files are deleted on the server.</span>
      <button
        ref={sure}
        type="button"
        class="danger"
        onClick={() => {
          asking.value = false;
          remove();
        }}
      >
        Remove<span class="hidden"> {name} for good</span>
      </button>
      <button type="button" class="quiet" onClick={turn(false)}>
        Cancel
      </button>
    </>
  );
}
