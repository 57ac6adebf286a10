// SPDX-License-Identifier: MIT

// A list of short texts, each as a chip.
import { useSignal } from "@preact/signals";
import { useId, useRef } from "preact/hooks";
import { t } from "../../language/language.ts";
import { withEscapes, withoutEscapes } from "../../settings/escapes.ts";
import { Icon } from "../icon.tsx";

interface Props {
  label: string;
  help: string;
  texts: readonly string[];
  most: number;
  placeholder?: string;
  change(texts: string[]): void;
}

/** A list of texts, each as a chip. A line break is typed as \n. */
export function Chips({ label, help, texts, most, placeholder = "", change }: Props) {
  const id = useId();
  const draft = useSignal("");
  const field = useRef<HTMLInputElement>(null);
  const full = texts.length >= most;
  const add = () => {
    const text = withoutEscapes(draft.peek());
    if (text === "" || full) return;
    draft.value = "";
    if (!texts.includes(text)) change([...texts, text]);
  };
  const remove = (text: string) => {
    change(texts.filter((other) => other !== text));
    field.current?.focus();
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const last = texts.at(-1);
    if (event.key === "Enter") {
      event.preventDefault();
      add();
    } else if (event.key === "Backspace" && draft.peek() === "" && last !== undefined) {
      remove(last);
    }
  };
  return (
    <div class="setting" data-set={texts.length > 0}>
      <label for={id}>{label}</label>
      <div class="chips">
        {texts.map((text) => (
          <span class="chip" key={text}>
            <code>{withEscapes(text)}</code>
            <button
              type="button"
              aria-label={t("Remove {what}", { what: withEscapes(text) })}
              onClick={() => remove(text)}
            >
              <Icon name="close" />
            </button>
          </span>
        ))}
        <input
          id={id}
          ref={field}
          type="text"
          autocomplete="off"
          spellcheck={false}
          disabled={full}
          placeholder={texts.length === 0 ? placeholder : ""}
          aria-describedby={`${id}-help`}
          value={draft}
          onInput={(event) => {
            draft.value = event.currentTarget.value;
          }}
          onKeyDown={onKeyDown}
          onBlur={add}
        />
      </div>
      <small id={`${id}-help`}>{full ? t("There can be at most {n}.", { n: most }) : help}</small>
    </div>
  );
}
