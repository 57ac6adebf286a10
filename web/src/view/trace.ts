// SPDX-License-Identifier: MIT
import type { Exchange } from "../conversation.ts";
import type { TokenTrace } from "../protocol.ts";
import { traceRows, visible } from "../trace.ts";
import { make } from "./dom.ts";

const heads = ["Stage", "Time", "Left", "Most likely"];

/** The tokens of an answer; a click on one shows how each stage of the chain led to it. */
export class TraceView {
  readonly element = make("details", { className: "trace", hidden: true });
  private readonly tokens = make("div", { className: "tokens" });
  private readonly table = make("table");
  private drawn: Exchange["traces"] = [];
  private count = 0; // of drawn that have a button

  constructor(private readonly exchange: Exchange) {
    const summary = make("summary", { textContent: "How the tokens were chosen" });
    this.element.append(summary, this.tokens, make("div", { className: "wide" }, this.table));
    this.element.addEventListener("toggle", () => this.update());
  }

  /** Draws the tokens that are new, if anybody looks. */
  update(): void {
    const { traces } = this.exchange;
    this.element.hidden = traces.length === 0;
    if (traces !== this.drawn) {
      this.drawn = traces;
      this.count = 0;
      this.tokens.replaceChildren();
      this.table.replaceChildren();
    }
    if (!this.element.open) return;
    this.tokens.append(...traces.slice(this.count).map((trace) => this.button(trace)));
    this.count = traces.length;
  }

  private button(trace: TokenTrace): HTMLButtonElement {
    const button = make("button", { type: "button", className: "quiet", textContent: visible(trace.token) });
    button.addEventListener("click", () => {
      for (const other of this.tokens.children) other.setAttribute("aria-pressed", String(other === button));
      this.show(trace);
    });
    return button;
  }

  private show(trace: TokenTrace): void {
    const rows = traceRows(trace).map(({ stage, time, left, best }) =>
      make("tr", {}, ...[stage, time, left, best].map((text) => make("td", { textContent: text }))),
    );
    const head = make("tr", {}, ...heads.map((text) => make("th", { scope: "col", textContent: text })));
    this.table.replaceChildren(make("thead", {}, head), make("tbody", {}, ...rows));
  }
}
