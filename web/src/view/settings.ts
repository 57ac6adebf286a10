// SPDX-License-Identifier: MIT
import type { Plugin } from "../host.ts";
import { clean, configOf, type Keeper, type Settings } from "../settings.ts";
import { byId, make } from "./dom.ts";

const numbers = ["temperature", "maxTokens", "seed"] as const;

/** The settings dialog. What is typed is kept at once, if it is valid. */
export class SettingsView {
  private readonly dialog = byId("settings", HTMLDialogElement);
  private readonly form = this.dialog.querySelector("form") as HTMLFormElement;
  private readonly pluginList = byId("plugin-list", HTMLElement);
  private readonly forget = byId("forget-key", HTMLButtonElement);

  constructor(
    private readonly keeper: Keeper,
    forgetKey: () => void,
  ) {
    byId("open-settings", HTMLButtonElement).addEventListener("click", () => this.open());
    byId("reset-settings", HTMLButtonElement).addEventListener("click", () => {
      keeper.keep(clean({}));
      this.fill();
    });
    this.forget.addEventListener("click", () => {
      this.dialog.close();
      forgetKey();
    });
    this.form.addEventListener("input", () => {
      keeper.keep(this.read());
      this.show();
    });
    this.dialog.addEventListener("click", (event) => {
      if (event.target === this.dialog) this.dialog.close(); // beside the form: the backdrop
    });
  }

  /** Shows what can be picked; nothing while the host offers no plugins. */
  offer(plugins: readonly Plugin[]): void {
    byId("plugins", HTMLFieldSetElement).hidden = plugins.length === 0;
    this.pluginList.replaceChildren(
      ...plugins.flatMap(({ name, summary, fields }) => {
        const box = make("input", { type: "checkbox", name: "plugins", value: name });
        const words = make("span", { textContent: name }, make("small", { textContent: summary }));
        const choice = make("label", { className: "check" }, box, words);
        return fields.length === 0 ? [choice] : [choice, configField(name, fields)];
      }),
    );
    this.fill();
  }

  private open(): void {
    this.fill();
    this.forget.hidden = this.keeper.key() === "";
    this.dialog.showModal();
  }

  private fill(): void {
    const settings = this.keeper.settings();
    this.field("system").value = settings.system;
    for (const name of numbers) this.field(name).value = settings[name]?.toString() ?? "";
    this.field("keepGoing").checked = settings.keepGoing;
    this.field("trace").checked = settings.trace;
    for (const box of this.boxes()) box.checked = settings.plugins.includes(box.value);
    for (const field of this.configs()) field.value = settings.configs[field.name] ?? "";
    this.show();
  }

  /** Only what was picked can be configured. */
  private show(): void {
    const picked = this.boxes().flatMap((box) => (box.checked ? [box.value] : []));
    for (const field of this.configs()) {
      field.hidden = !picked.includes(field.name);
      const wrong = !field.hidden && field.value.trim() !== "" && configOf(field.value) === undefined;
      field.setCustomValidity(wrong ? "It must be a JSON object, or empty" : "");
    }
  }

  private read(): Settings {
    const settings = clean({
      system: this.field("system").value,
      keepGoing: this.field("keepGoing").checked,
      trace: this.field("trace").checked,
      plugins: this.boxes().flatMap((box) => (box.checked ? [box.value] : [])),
      configs: Object.fromEntries(this.configs().map((field) => [field.name, field.value])),
    });
    for (const name of numbers) {
      const field = this.field(name);
      if (field.value !== "" && field.validity.valid) settings[name] = field.valueAsNumber;
    }
    return settings;
  }

  private field(name: string): HTMLInputElement {
    return this.form.elements.namedItem(name) as HTMLInputElement;
  }

  private boxes(): HTMLInputElement[] {
    return [...this.pluginList.querySelectorAll("input")];
  }

  private configs(): HTMLTextAreaElement[] {
    return [...this.pluginList.querySelectorAll("textarea")];
  }
}

/** Takes a plugin's configuration as JSON; what can be told to it is hinted at. */
function configField(name: string, fields: readonly string[]): HTMLTextAreaElement {
  const field = make("textarea", { name, rows: 2, spellcheck: false, hidden: true });
  field.placeholder = `{${fields.map((name) => `"${name}": …`).join(", ")}}`;
  field.ariaLabel = `Configuration of ${name}`;
  return field;
}
