// SPDX-License-Identifier: MIT

// The entries of a list.
import { useLayoutEffect, useRef } from "preact/hooks";
import { t, tn } from "../../language/language.ts";
import { fieldOf, limitWords, number, resolve, type Schema, startingValue } from "../../plugins/schema.ts";
import { pathTo } from "../../plugins/schemacheck.ts";
import { Icon } from "../icon.tsx";
import { FieldHelp, Needed } from "./fieldhelp.tsx";
import { type CompoundProps, useForm } from "./formcontext.ts";

const mostShown = 200; // entries; more would make the page slow, and can be edited as JSON

/** A list: its entries can be changed, moved, removed, and new ones added. */
export function ListField(props: CompoundProps) {
  const { Field, path, schema, name, label, required, value, change } = props;
  const form = useForm();
  const box = useRef<HTMLFieldSetElement>(null);
  const focus = useRef<number | undefined>(undefined); // the entry that gets it once it is drawn
  useLayoutEffect(() => {
    if (focus.current !== undefined) focusEntry(box.current, focus.current);
    focus.current = undefined;
  });
  const field = fieldOf(schema);
  if (field.kind !== "list") return null;
  const part = resolve(field.item, form.root);
  const entries = Array.isArray(value) ? value : [];
  const id = `${form.id}-${path}`;
  const problem = form.problems.find((p) => p.path === path)?.message;
  const replace = (changed: unknown[], next?: number) => {
    focus.current = next;
    change(changed.length === 0 && !required ? undefined : changed);
  };
  const add = () => replace([...entries, startingValue(part, form.root)], entries.length);
  return (
    <fieldset ref={box} aria-label={label} aria-describedby={`${id}-help ${id}-problem`}>
      <legend>
        {name}
        {required && <Needed />}
      </legend>
      <FieldHelp
        id={id}
        schema={schema}
        more={limitWords(part) === "" ? "" : t("each {limits}", { limits: limitWords(part) })}
        problem={undefined}
      />
      <Entries {...{ Field, path, part, label, entries, replace }} />
      <button
        type="button"
        class="quiet add"
        aria-label={t("Add to {list}", { list: label })}
        disabled={entries.length >= Math.min(mostShown, number(schema.maxItems) || mostShown)}
        onClick={add}
      >
        <Icon name="plus" />
        {t("Add")}
      </button>
      {problem !== undefined && (value !== undefined || required) && (
        <p class={value === undefined ? "hint" : "problem"} id={`${id}-problem`}>
          {value === undefined ? t("Add at least one.") : problem}
        </p>
      )}
    </fieldset>
  );
}

interface EntriesProps extends Pick<CompoundProps, "Field" | "path" | "label"> {
  part: Schema;
  entries: readonly unknown[];
  replace(changed: unknown[], next?: number): void;
}

function Entries({ Field, path, part, label, entries, replace }: EntriesProps) {
  return (
    <>
      <ol class="entries">
        {entries.slice(0, mostShown).map((entry, at) => (
          // Entries have no names of their own, and each draws what it is given.
          <li key={String(at)} class={fieldOf(part).kind === "group" ? "card" : undefined}>
            <Field
              path={pathTo(path, at)}
              schema={part}
              name=""
              label={`${label} ${at + 1}`}
              required
              value={entry}
              change={(changed) => replace(entries.with(at, changed ?? ""))}
            />
            <Moves
              label={`${label} ${at + 1}`}
              first={at === 0}
              last={at === entries.length - 1}
              move={(by) => replace(moved(entries, at, at + by), at + by)}
              remove={() => replace(entries.toSpliced(at, 1), Math.max(0, Math.min(at, entries.length - 2)))}
            />
          </li>
        ))}
      </ol>
      {entries.length > mostShown && (
        <p class="hint">
          {tn(
            entries.length - mostShown,
            "{n} more entry can be edited as JSON.",
            "{n} more entries can be edited as JSON.",
          )}
        </p>
      )}
    </>
  );
}

interface MovesProps {
  label: string;
  first: boolean;
  last: boolean;
  move(by: -1 | 1): void;
  remove(): void;
}

function Moves({ label, first, last, move, remove }: MovesProps) {
  return (
    <span class="moves">
      {!(first && last) && (
        <>
          <button
            type="button"
            class="quiet"
            aria-label={t("Move {entry} up", { entry: label })}
            title={t("Up")}
            disabled={first}
            onClick={() => move(-1)}
          >
            <Icon name="up" />
          </button>
          <button
            type="button"
            class="quiet"
            aria-label={t("Move {entry} down", { entry: label })}
            title={t("Down")}
            disabled={last}
            onClick={() => move(1)}
          >
            <Icon name="down" />
          </button>
        </>
      )}
      <button
        type="button"
        class="quiet"
        aria-label={t("Remove {what}", { what: label })}
        title={t("Remove")}
        onClick={remove}
      >
        <Icon name="close" />
      </button>
    </span>
  );
}

function moved(entries: readonly unknown[], from: number, to: number): unknown[] {
  return entries.toSpliced(from, 1).toSpliced(to, 0, entries[from]);
}

/** Keeps the keyboard where the change was made: in the entry, or on the button that adds one. */
function focusEntry(box: HTMLElement | null, at: number): void {
  const entry = box?.querySelectorAll(":scope > ol > li")[at];
  const target = entry?.querySelector<HTMLElement>("input, textarea, select, button");
  (target ?? box?.querySelector<HTMLElement>(":scope > .add"))?.focus();
}
