// SPDX-License-Identifier: MIT

// useEdit and useSetting: how the settings view reads and changes a chat's settings.
import { computed, type ReadonlySignal, signal, useComputed } from "@preact/signals";
import { createContext } from "preact";
import { useContext } from "preact/hooks";
import type { App } from "../../app.ts";
import type { Chat } from "../../chats/chat.ts";
import { t } from "../../language/language.ts";
import { type HostChain, hostChain } from "../../settings/chain.ts";
import type { Value } from "../../settings/parameters.ts";
import type { Settings } from "../../settings/settings.ts";

/** The settings of a chat while they are shown, and what the host says about them. */
export class Edit {
  readonly host: ReadonlySignal<HostChain>;
  readonly replaced = signal(0); // how often all settings were: what is half typed is given up then

  constructor(
    readonly app: App,
    readonly chat: Chat,
  ) {
    this.host = computed(() => hostChain(app.props.value.defaults, app.plugins.value));
  }

  /** Changes the settings of this chat alone. They count from the next answer on. */
  change(change: (settings: Settings) => Settings): void {
    const { settings } = this.chat;
    settings.value = change(settings.peek());
  }

  /** Sets a parameter; undefined leaves it to the host. */
  set(name: string, value: Value | undefined): void {
    this.change((settings) => {
      const { [name]: _, ...sampling } = settings.sampling;
      return { ...settings, sampling: value === undefined ? sampling : { ...sampling, [name]: value } };
    });
  }

  /** Has new chats begin with these settings, and offers the way back. */
  keepAsDefault(): void {
    const { starting, offer } = this.app;
    const before = starting.get();
    starting.keep(this.chat.settings.peek());
    offer.value = {
      text: t("New chats begin with these settings."),
      action: t("Undo"),
      run: () => starting.keep(before),
    };
  }

  /** Has new chats with a model begin with these settings, and offers the way back. */
  keepFor(model: string): void {
    const { starting, offer } = this.app;
    const before = starting.of(model);
    starting.keepOf(model, this.chat.settings.peek());
    offer.value = {
      text: t("New chats with {model} begin with these settings.", { model }),
      action: t("Undo"),
      run: () => starting.keepOf(model, before),
    };
  }

  /** Replaces all settings, and offers the way back. */
  replace(settings: Settings, what: string): void {
    const before = this.chat.settings.peek();
    const to = (all: Settings) => {
      this.change(() => all);
      this.replaced.value++;
    };
    to(settings);
    this.app.offer.value = { text: what, action: t("Undo"), run: () => to(before) };
  }
}

const Context = createContext<Edit | undefined>(undefined);
export const EditProvider = Context.Provider;

export function useEdit(): Edit {
  const edit = useContext(Context);
  if (edit === undefined) throw new Error("a component stands outside of the settings"); // untranslated: for programmers
  return edit;
}

/** A part of the settings. Only a change of this part draws the component anew. */
export function useSetting<T>(select: (settings: Settings) => T): T {
  const { settings } = useEdit().chat;
  return useComputed(() => select(settings.value)).value;
}

/** A parameter: its value, if a person has set one, and what it is otherwise. */
export function useParameter(name: string): { value: Value | undefined; usual: unknown } {
  const { app } = useEdit();
  const value = useSetting(({ sampling }) => sampling[name]);
  const usual = useComputed(() => app.props.value.defaults[name]).value;
  return { value, usual };
}
