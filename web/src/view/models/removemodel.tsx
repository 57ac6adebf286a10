// SPDX-License-Identifier: MIT

// The button that removes a model from the server's folder.
import { useSignal } from "@preact/signals";
import { useLayoutEffect, useRef } from "preact/hooks";
import { t } from "../../language/language.ts";

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
      <button type="button" class="quiet" aria-label={t("Remove {name}", { name })} onClick={turn(true)}>
        {t("Remove")}
      </button>
    );
  }
  return (
    <>
      <span class="hint">{t("Its files are deleted on the server.")}</span>
      <button
        ref={sure}
        type="button"
        class="danger"
        aria-label={t("Remove {name} for good", { name })}
        onClick={() => {
          asking.value = false;
          remove();
        }}
      >
        {t("Remove")}
      </button>
      <button type="button" class="quiet" onClick={turn(false)}>
        {t("Cancel")}
      </button>
    </>
  );
}
