// SPDX-License-Identifier: MIT

// The button that removes a plugin.
import { useSignal } from "@preact/signals";
import { useLayoutEffect, useRef } from "preact/hooks";
import { t, tx } from "../../language/language.ts";
import type { PluginFile } from "../../plugins/pluginfile.ts";
import { useCatalog } from "./catalogcontext.ts";

/** Removes a plugin, after a second question. */
export function RemoveButton({ plugin: { name, file } }: { plugin: PluginFile }) {
  const catalog = useCatalog();
  const asking = useSignal(false);
  const sure = useRef<HTMLButtonElement>(null);
  useLayoutEffect(() => {
    if (asking.value) sure.current?.focus();
  }, [asking.value]);
  if (!asking.value) {
    return (
      <button
        type="button"
        class="quiet"
        aria-label={t("Remove {what}", { what: name })}
        onClick={() => {
          asking.value = true;
        }}
      >
        {t("Remove")}
      </button>
    );
  }
  return (
    <fieldset class="confirm" aria-label={t("Remove {plugin}?", { plugin: name })}>
      <p>
        {tx(
          "This deletes {file} on the server. It cannot be undone. Chats that use the plugin go on without it.",
          { file: <code>{file}</code> },
        )}
      </p>
      <p class="choices">
        <button
          ref={sure}
          type="button"
          class="danger"
          onClick={() => {
            asking.value = false;
            catalog.remove(name);
          }}
        >
          {t("Remove")}
        </button>
        <button
          type="button"
          class="quiet"
          onClick={() => {
            asking.value = false;
          }}
        >
          {t("Cancel")}
        </button>
      </p>
    </fieldset>
  );
}
