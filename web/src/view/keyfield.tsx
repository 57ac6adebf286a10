// SPDX-License-Identifier: MIT

// The field for a key, in both key dialogs.
import type { Signal } from "@preact/signals";
import { t } from "../language/language.ts";

interface Props {
  label: string;
  value: Signal<string>;
  refused: boolean; // the one before
  autocomplete: "current-password" | "off";
}

/** Where a key of the server is typed, and that the one before was refused. */
export function KeyField({ label, value, refused, autocomplete }: Props) {
  return (
    <>
      <label>
        {label}
        <input
          type="password"
          autocomplete={autocomplete}
          required
          pattern="[!-~]+"
          title={t("Letters, digits and signs, without spaces")}
          value={value}
          onInput={(event) => {
            value.value = event.currentTarget.value;
          }}
        />
      </label>
      {refused && (
        <p class="problem" role="alert">
          {t("The server did not accept that key.")}
        </p>
      )}
    </>
  );
}
