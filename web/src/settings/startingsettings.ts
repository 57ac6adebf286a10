// SPDX-License-Identifier: MIT

// The settings that a new chat begins with.
import { type ReadonlySignal, signal } from "@preact/signals";
import type { SmallStorage } from "../storage.ts";
import { cleanSettings, record, type Settings } from "./settings.ts";

const item = "penstock.settings";
const modelItem = "penstock.models";
const most = 50; // models whose settings are kept; the oldest are forgotten

/**
 * The settings that a new chat begins with, and those of chats with a model of their own. They are
 * kept in the browser from one visit to the next.
 */
export class StartingSettings {
  private readonly byModel = signal<ReadonlyMap<string, Settings>>(new Map());
  private readonly first = signal<string | undefined>(undefined);

  constructor(private readonly storage: Pick<SmallStorage, "getItem" | "setItem">) {
    this.takeModels();
  }

  /** The model with which all new chats begin; undefined: the one that was chosen last. */
  get model(): ReadonlySignal<string | undefined> {
    return this.first;
  }

  /** Has all new chats begin with a model, or with the one that was chosen last. */
  begin(model: string | undefined): void {
    this.takeModels();
    this.first.value = model;
    this.keepModels();
  }

  get(): Settings {
    const last = cleanSettings(this.read(item));
    const model = this.first.peek() ?? last.model;
    return model === undefined ? last : { ...(this.byModel.peek().get(model) ?? last), model };
  }

  keep(settings: Settings): void {
    this.write(item, settings);
  }

  /** A model was chosen: new chats begin with it, unless they have one of their own. */
  chose(model: string): void {
    this.keep({ ...cleanSettings(this.read(item)), model });
  }

  /** The settings with which chats with a model begin; undefined: those of all chats. */
  of(model: string): Settings | undefined {
    return this.byModel.value.get(model);
  }

  /** Has chats with a model begin with settings, or with those of all chats. */
  keepOf(model: string, settings: Settings | undefined): void {
    this.takeModels();
    const others = [...this.byModel.peek()].filter(([name]) => name !== model);
    const all = settings === undefined ? others : [...others, [model, settings] as const];
    this.byModel.value = new Map(all.slice(-most));
    this.keepModels();
  }

  /** Takes over what is kept by model, also by another tab. */
  private takeModels(): void {
    const { first, settings } = record(this.read(modelItem));
    const kept = Object.entries(record(settings)).slice(-most);
    this.first.value = typeof first === "string" ? first : undefined;
    this.byModel.value = new Map(kept.map(([model, own]) => [model, cleanSettings(own)]));
  }

  private keepModels(): void {
    const settings = Object.fromEntries(this.byModel.peek());
    this.write(modelItem, { first: this.first.peek(), settings });
  }

  private write(name: string, value: unknown): void {
    try {
      this.storage.setItem(name, JSON.stringify(value));
    } catch {
      // the browser has no room left: the chat has its settings nevertheless
    }
  }

  private read(name: string): unknown {
    try {
      return JSON.parse(this.storage.getItem(name) ?? "{}");
    } catch {
      return {}; // not written by this page
    }
  }
}
