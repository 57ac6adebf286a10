// SPDX-License-Identifier: MIT

// Scripts under a name, which are strategies of every chat.
import { type ReadonlySignal, type Signal, signal } from "@preact/signals";
import { language, t } from "../language/language.ts";
import { CarefulStorage } from "../storage.ts";

/** A script with a name. */
export interface NamedScript {
  name: string;
  source: string;
  config: string; // JSON as it was typed; empty: none
}

const item = "penstock.scripts";
/** How long the name of a script may be, in characters. */
export const longestName = 40;
const most = 50;

/** A person's scripts under their names, kept in the browser. */
export class NamedScripts {
  private readonly kept: Signal<readonly NamedScript[]> = signal([]);

  constructor(private readonly storage: Pick<CarefulStorage, "getItem" | "setItem">) {
    this.kept.value = this.read();
  }

  get list(): ReadonlySignal<readonly NamedScript[]> {
    return this.kept;
  }

  /** Keeps a script, in place of one with its name. Returns why not, as a sentence. */
  save({ name, source, config }: NamedScript): string {
    const title = name.trim().slice(0, longestName);
    if (title === "") return t("Give it a name.");
    if (source.trim() === "") return t("There is no script to keep yet.");
    const others = this.read().filter((script) => script.name !== title);
    if (others.length >= most)
      return t("There are {n} scripts already. Remove one of them first.", { n: most });
    this.write([...others, { name: title, source, config }]);
    return "";
  }

  remove(name: string): void {
    this.write(this.read().filter((script) => script.name !== name));
  }

  private write(list: readonly NamedScript[]): void {
    this.kept.value = [...list].sort((a, b) => a.name.localeCompare(b.name, language));
    this.storage.setItem(item, JSON.stringify(this.kept.peek()));
  }

  /** Another tab may have changed them meanwhile. */
  private read(): readonly NamedScript[] {
    try {
      const list: unknown = JSON.parse(this.storage.getItem(item) ?? "[]");
      return Array.isArray(list) ? list.filter(isNamed).slice(0, most) : [];
    } catch {
      return []; // not written by this page
    }
  }
}

function isNamed(value: unknown): value is NamedScript {
  const { name, source, config } = (value ?? {}) as Record<string, unknown>;
  return typeof name === "string" && name !== "" && typeof source === "string" && typeof config === "string";
}

/** The scripts with names of this browser. */
export const namedScripts = new NamedScripts(new CarefulStorage(() => localStorage));
