// SPDX-License-Identifier: MIT

// A field with the list of what fits, from which one thing is chosen.
import { type Signal, useSignal } from "@preact/signals";
import { Fragment } from "preact";
import { useId, useLayoutEffect, useRef } from "preact/hooks";
import { t } from "../../language/language.ts";

/** One thing that can be chosen. */
export interface Choice {
  key: string; // no other of the list has it
  title: string;
  detail?: string;
  wrong?: boolean; // the detail says what is wrong with it
  chosen?: boolean; // it is what counts now
  run(): void;
}

/** Choices that belong together. The name may be empty. */
export interface ChoiceGroup {
  name: string;
  choices: readonly Choice[];
}

interface Props {
  label: string; // of the field, which shows it while it is empty
  query: Signal<string>;
  groups: readonly ChoiceGroup[];
  none: string; // what is said where nothing fits
  close(): void; // before what was chosen runs
}

/** Whether a text has all words of a query. */
export function fits(text: string, query: string): boolean {
  const lower = text.toLowerCase();
  return query
    .toLowerCase()
    .split(/\s+/)
    .every((word) => lower.includes(word));
}

/**
 * A field with a list below it. What is typed narrows the list, the arrows walk through it, and
 * Enter or a click chooses. The focus stays in the field.
 */
export function Finder({ label, query, groups, none, close }: Props) {
  const id = useId();
  const field = useRef<HTMLInputElement>(null);
  const list = useRef<HTMLDivElement>(null);
  const at = useSignal("");
  const shown = groups.filter(({ choices }) => choices.length > 0);
  const all = shown.flatMap(({ choices }) => choices);
  const index = Math.max(
    0,
    all.findIndex(({ key }) => key === at.value),
  );
  const marked = all[index];
  useLayoutEffect(() => field.current?.focus(), []);
  useLayoutEffect(() => {
    list.current?.querySelector('[aria-selected="true"]')?.scrollIntoView({ block: "nearest" });
  }, [marked?.key]);
  const choose = (choice: Choice) => {
    close();
    choice.run();
  };
  const press = (event: KeyboardEvent) => {
    const by = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (event.isComposing || (by === undefined && event.key !== "Enter")) return;
    event.preventDefault();
    if (by !== undefined) at.value = all.at((index + by) % all.length)?.key ?? "";
    else if (marked !== undefined) choose(marked);
  };
  const option = (choice: Choice) => (
    <Option key={choice.key} id={id} choice={choice} marked={choice === marked} choose={choose} />
  );
  return (
    <div class="finder">
      <input
        ref={field}
        type="text"
        role="combobox"
        aria-label={label}
        placeholder={label}
        autocomplete="off"
        spellcheck={false}
        aria-autocomplete="list"
        aria-expanded={all.length > 0}
        aria-controls={id}
        aria-activedescendant={marked && `${id}-${marked.key}`}
        value={query}
        onInput={(event) => {
          query.value = event.currentTarget.value;
          at.value = "";
        }}
        onKeyDown={press}
      />
      <div id={id} ref={list} role="listbox" tabIndex={-1} aria-label={label}>
        {shown.map(({ name, choices }) =>
          name === "" ? (
            <Fragment key={name}>{choices.map(option)}</Fragment>
          ) : (
            // biome-ignore lint/a11y/useSemanticElements: a fieldset is no part of a listbox
            <div key={name} role="group" aria-label={name}>
              <p aria-hidden="true">{name}</p>
              {choices.map(option)}
            </div>
          ),
        )}
      </div>
      <p class="hint" role="status">
        {all.length === 0 && none}
      </p>
    </div>
  );
}

interface OptionProps {
  id: string;
  choice: Choice;
  marked: boolean;
  choose(choice: Choice): void;
}

function Option({ id, choice, marked, choose }: OptionProps) {
  const { key, title, detail, wrong, chosen } = choice;
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: the field has the keys
    <div
      id={`${id}-${key}`}
      role="option"
      tabIndex={-1}
      aria-selected={marked}
      data-chosen={chosen}
      onPointerDown={(event) => event.preventDefault()} // the focus stays in the field
      onClick={() => choose(choice)}
    >
      <span dir="auto">
        {title}
        {chosen && <span class="hidden"> {t("(chosen)")}</span>}
      </span>
      {detail !== undefined && detail !== "" && (
        <small dir="auto" class={wrong ? "wrong" : ""}>
          {detail}
        </small>
      )}
    </div>
  );
}
