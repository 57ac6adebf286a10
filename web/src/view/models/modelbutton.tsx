// SPDX-License-Identifier: MIT

// A button that opens the list of models, to search and to choose from.
import { useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useId, useLayoutEffect, useRef } from "preact/hooks";
import type { App } from "../../app.ts";
import type { Model } from "../../host/rest.ts";
import { t } from "../../language/language.ts";
import { useApp } from "../appcontext.ts";
import { type Choice, Finder, fits } from "../finder/finder.tsx";
import { place } from "../menu.tsx";
import { failureOf, sizesOf, states } from "./modelwords.ts";

interface Props {
  label: string; // of the button and of the list
  class: string;
  children: ComponentChildren; // what the button shows
  id?: string;
  describedBy?: string;
  chosen?: string; // the model that counts now
  without?: string; // a model that is not offered
  none?: string; // what it is called to choose no model; absent: that is not offered
  noteOf?(model: string): string; // what is wrong with one here
  choose(model: string): void; // "": none
}

/** A button that opens the list of models. Escape and a click elsewhere close it. */
export function ModelButton(props: Props) {
  const id = useId();
  const open = useSignal(false);
  const button = useRef<HTMLButtonElement>(null);
  const panel = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => {
    if (open.value && button.current !== null && panel.current !== null) place(panel.current, button.current);
  }, [open.value]);
  return (
    <>
      <button
        type="button"
        class={props.class}
        id={props.id}
        ref={button}
        aria-label={props.label}
        aria-describedby={props.describedBy}
        title={props.label}
        aria-haspopup="dialog"
        aria-expanded={open.value}
        popovertarget={id}
      >
        {props.children}
      </button>
      <div
        id={id}
        ref={panel}
        class="menu model-finder"
        popover="auto"
        role="dialog"
        aria-label={props.label}
        onToggle={({ newState }) => {
          open.value = newState === "open";
        }}
        onKeyDown={(event) => {
          if (event.key === "Escape") event.stopPropagation(); // it closes the list, and stops no answer
        }}
      >
        {open.value && <Models {...props} close={() => panel.current?.hidePopover()} />}
      </div>
    </>
  );
}

function Models({ close, ...props }: Props & { close(): void }) {
  const app = useApp();
  const query = useSignal("");
  useLayoutEffect(() => void app.refreshModels().catch(() => {}), [app]); // what is known is shown meanwhile
  const choices = modelChoices(app, props).filter(({ title, detail = "" }) =>
    fits(`${title} ${detail}`, query.value.trim()),
  );
  return (
    <Finder
      label={t("Find a model")}
      query={query}
      groups={[{ name: "", choices }]}
      none={t("No model has these words.")}
      close={close}
    />
  );
}

/** The models, those that the server could not load at the end. */
export function modelChoices(
  { served }: Pick<App, "served">,
  { chosen, without, none, noteOf, choose }: Pick<Props, "chosen" | "without" | "none" | "noteOf" | "choose">,
): Choice[] {
  const models = served.value.filter(({ name }) => name !== without);
  const sorted = [...models].sort((a, b) => Number(a.failed !== "") - Number(b.failed !== ""));
  const choices = sorted.map((model): Choice => {
    const { name } = model;
    const wrong = failureOf(model) || (noteOf?.(name) ?? "");
    const detail = wrong || stateWords(model);
    const run = () => choose(name);
    return { key: `model ${name}`, title: name, detail, wrong: wrong !== "", chosen: name === chosen, run };
  });
  const own = { key: "none", title: none ?? "", chosen: chosen === undefined, run: () => choose("") };
  return none === undefined ? choices : [own, ...choices];
}

function stateWords(model: Model): string {
  return [states[model.state], sizesOf(model)].filter((words) => words !== "").join(" · ");
}
