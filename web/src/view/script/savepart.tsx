// SPDX-License-Identifier: MIT

// Where a script is saved as a plugin. What that takes is loaded when it is opened.
import { useSignal } from "@preact/signals";
import { t } from "../../language/language.ts";
import { Lazy } from "../lazy.tsx";

const save = () => import("./saveplugin.tsx");

/** Saves the script as a plugin of the server. */
export function SavePart({ source }: { source: string }) {
  const opened = useSignal(false);
  return (
    <details
      onToggle={(event) => {
        opened.value ||= event.currentTarget.open;
      }}
    >
      <summary>{t("Save as a plugin")}</summary>
      {opened.value && <Lazy load={save} with={{ source }} />}
    </details>
  );
}
