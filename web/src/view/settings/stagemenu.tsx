// SPDX-License-Identifier: MIT

// The menu of stages that can be added to the chain.
import { useComputed, useSignal } from "@preact/signals";
import type { ComponentChild } from "preact";
import { useId, useRef } from "preact/hooks";
import { t, tx } from "../../language/language.ts";
import { withStage } from "../../settings/addstage.ts";
import { addable, entryOf } from "../../settings/chain.ts";
import { nativeNamed } from "../../settings/nativestages.ts";
import { mostInSettings } from "../../settings/settings.ts";
import { sentence } from "../../text/sentence.ts";
import { onEscape } from "../escape.ts";
import { Icon } from "../icon.tsx";
import { useEdit } from "./settingsedit.ts";

interface Choice {
  name: string;
  label: string;
  help: string;
  plugin: boolean;
}

/** The stages that are not in the chain yet, each with what it does. */
export function StageMenu({ added }: { added(name: string): void }) {
  const edit = useEdit();
  const id = useId();
  const button = useRef<HTMLButtonElement>(null);
  const open = useSignal(false);
  const choices = useComputed(() => choicesOf(addable(edit.chat.settings.value, edit.host.value)));
  const full = useComputed(() => (edit.chat.settings.value.chain?.length ?? 0) >= mostInSettings.stages);
  if (choices.value.length === 0 || full.value) return null;
  const add = (name: string) => {
    edit.change((settings) => withStage(settings, name, edit.host.peek()));
    open.value = false;
    added(name);
  };
  const leave = onEscape(() => {
    open.value = false;
    button.current?.focus();
  });
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: the keys of the buttons within come up to here
    <div class="add-stage" onKeyDown={(event) => open.peek() && leave(event)}>
      <button
        type="button"
        ref={button}
        class="quiet"
        aria-expanded={open.value}
        aria-controls={id}
        onClick={() => {
          open.value = !open.peek();
        }}
      >
        <Icon name="plus" />
        {t("Add a stage")}
      </button>
      {open.value && (
        <ul id={id}>
          {choices.value.map(({ name, label, help, plugin }) => (
            <li key={name}>
              <button type="button" onClick={() => add(name)}>
                <span>
                  <AddWords label={label} plugin={plugin} />
                </span>
                <small>{help}</small>
              </button>
            </li>
          ))}
        </ul>
      )}
    </div>
  );
}

/** "Add Top-k", of which only the stage is to be seen: the button above the menu says the rest. */
function AddWords({ label, plugin }: Pick<Choice, "label" | "plugin">) {
  const stage = (
    <>
      {label}
      {plugin && <em>{t("plugin")}</em>}
    </>
  );
  const parts = tx<ComponentChild>("Add {stage}", { stage });
  return parts.map((part) => (typeof part === "string" ? <span class="hidden">{part}</span> : part));
}

function choicesOf({ natives, plugins }: ReturnType<typeof addable>): Choice[] {
  return [
    ...plugins.map(({ name, summary }) => ({
      name: entryOf(name),
      label: name,
      help: summary === "" ? "" : sentence(summary),
      plugin: true,
    })),
    ...natives.map((name) => ({
      name,
      label: nativeNamed(name)?.label ?? name,
      help: nativeNamed(name)?.help ?? "",
      plugin: false,
    })),
  ];
}
