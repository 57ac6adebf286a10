// SPDX-License-Identifier: MIT

// Keeps a script under a name, as a strategy of every chat, and shares it as a link.
import { useSignal } from "@preact/signals";
import { useId } from "preact/hooks";
import { t } from "../../language/language.ts";
import { longestName, namedScripts } from "../../scripts/namedscripts.ts";
import { shared } from "../../scripts/sharedscript.ts";
import type { Script } from "../../settings/settings.ts";
import { useApp } from "../appcontext.ts";
import { copyText } from "../clipboard.ts";

interface Props {
  script: Script;
  change(part: Partial<Script>): void;
}

/** Keeps the script under a name, and copies a link to it. */
export function KeepScript({ script, change }: Props) {
  const { base } = useApp();
  const id = useId();
  const name = useSignal(script.name ?? "");
  const said = useSignal("");
  const keep = (event: Event) => {
    event.preventDefault();
    const title = name.peek().trim();
    const { source, config } = script;
    said.value = namedScripts.save({ name: title, source, config });
    if (said.peek() !== "") return;
    change({ name: title });
    said.value = t("“{name}” is a strategy now: choose it above the message field of any chat.", {
      name: title,
    });
  };
  const share = async () => {
    const text = script.source.trim() === "" ? "" : shared(script);
    if (text === undefined)
      said.value = t("The script is too long for a link. Export the chat as JSON, which has the script too.");
    else if (text === "") said.value = t("There is no script to share yet.");
    else
      said.value = await copyText(new URL(`#/script/${text}`, base).href).then(
        () =>
          t(
            "A link is copied. It holds the script, not the chat, and whoever opens it is asked before it runs.",
          ),
        () => t("The browser does not let this page copy."),
      );
  };
  return (
    <form class="save" onSubmit={keep}>
      <label for={id}>{t("Name")}</label>
      <input
        id={id}
        type="text"
        autocomplete="off"
        maxLength={longestName}
        value={name}
        onInput={(event) => {
          name.value = event.currentTarget.value;
        }}
      />
      <button type="submit" class="quiet">
        {t("Keep as a strategy")}
      </button>
      <button type="button" class="quiet" onClick={() => void share()}>
        {t("Copy a link")}
      </button>
      <p class="hint" role="status">
        {said}
      </p>
    </form>
  );
}
