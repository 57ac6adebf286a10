// SPDX-License-Identifier: MIT

// The menu of stages that can be added to the chain.
import { useComputed, useSignal } from "@preact/signals";
import { useId, useRef } from "preact/hooks";
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
        Add a stage
      </button>
      {open.value && (
        <ul id={id}>
          {choices.value.map(({ name, label, help, plugin }) => (
            <li key={name}>
              <button type="button" onClick={() => add(name)}>
                <span>
                  <span class="hidden">Add </span>
                  {label}
                  {plugin && <em>plugin</em>}
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
