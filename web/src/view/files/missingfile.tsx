// SPDX-License-Identifier: MIT

// Stands for a file whose bytes are no longer in this browser.
import { t } from "../../language/language.ts";
import { Icon } from "../icon.tsx";

/** Stands for a file whose bytes are lost. */
export function MissingFile({ name }: { name: string }) {
  return (
    <span class="gone">
      <Icon name="file" />
      {t("{name} is no longer in this browser", { name })}
    </span>
  );
}
