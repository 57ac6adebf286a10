// SPDX-License-Identifier: MIT
import type { Exchange } from "../conversation.ts";
import { remedy } from "../remedy.ts";
import { AnswerView } from "./answer.ts";
import { make } from "./dom.ts";
import { summary } from "./outcome.ts";
import { TraceView } from "./trace.ts";

export interface ExchangeActions {
  regenerate(): void;
  /** What is seen has grown or shrunk. */
  drawn(): void;
}

const copiedFor = 1600; // milliseconds that the button says so

/** A question, its answer, and what can be done with the answer. */
export class ExchangeView {
  readonly element: HTMLElement;
  private readonly body: AnswerView;
  private readonly trace: TraceView;
  private readonly article: HTMLElement;
  private readonly problem = make("div", { className: "problem", hidden: true });
  private readonly facts = make("span", { className: "facts" });
  private readonly copy = make("button", { type: "button", className: "link", textContent: "Copy" });
  private readonly again = make("button", { type: "button", className: "link" });

  constructor(
    private readonly exchange: Exchange,
    actions: ExchangeActions,
  ) {
    this.body = new AnswerView(exchange, actions.drawn);
    this.trace = new TraceView(exchange);
    this.copy.addEventListener("click", () => void this.toClipboard());
    this.again.addEventListener("click", actions.regenerate);
    const tools = make("p", { className: "tools" }, this.facts, this.copy, this.again);
    this.article = make(
      "article",
      { className: "answer" },
      this.body.element,
      this.problem,
      tools,
      this.trace.element,
    );
    this.article.setAttribute("aria-label", "Answer");
    const question = make("p", { className: "question", textContent: exchange.question });
    this.element = make("section", { className: "exchange" }, question, this.article);
    this.update(true);
  }

  /** Draws the present state; only the last exchange can be asked again. */
  update(isLast: boolean): void {
    const { answer, phase, outcome } = this.exchange;
    this.article.dataset.phase = phase;
    // A screen reader waits for the end instead of reading single tokens.
    this.article.setAttribute("aria-busy", String(phase !== "done"));
    this.facts.textContent = outcome?.error !== undefined && answer === "" ? "" : summary(this.exchange);
    this.copy.hidden = phase !== "done" || answer === "";
    this.again.hidden = phase !== "done" || !isLast;
    this.again.textContent = outcome?.reason === "error" ? "Try again" : "Regenerate";
    this.showProblem();
    this.trace.update();
    this.body.changed();
  }

  private showProblem(): void {
    const error = this.exchange.outcome?.error;
    this.problem.hidden = error === undefined;
    if (error === undefined) return;
    this.problem.replaceChildren(
      make("strong", { textContent: error.message }),
      make("span", { textContent: remedy(error) }),
    );
  }

  private async toClipboard(): Promise<void> {
    await copyText(this.exchange.answer);
    this.copy.textContent = "Copied";
    setTimeout(() => {
      this.copy.textContent = "Copy";
    }, copiedFor);
  }
}

/** Browsers have navigator.clipboard only on https and localhost; a host in the local network has neither. */
async function copyText(text: string): Promise<void> {
  if (navigator.clipboard !== undefined) return navigator.clipboard.writeText(text);
  const field = make("textarea", { value: text, className: "hidden" });
  document.body.append(field);
  field.select();
  document.execCommand("copy");
  field.remove();
}
