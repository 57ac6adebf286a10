// SPDX-License-Identifier: MIT
import type { Exchange } from "../conversation.ts";
import { GrowingMarkdown, render } from "../markdown.ts";
import { fragment, make, oncePerFrame } from "./dom.ts";

/** The text of one answer. It is drawn at most once a frame, however fast the tokens come. */
export class AnswerView {
  readonly element = make("div", { className: "prose" });
  private readonly tail = make("div", { className: "tail" });
  private markdown = new GrowingMarkdown();
  private drawn = ""; // the text that is on the page
  private settled = false; // it will grow no more
  private readonly draw: () => void;

  /** drawn is called after each change of what is seen. */
  constructor(
    private readonly exchange: Exchange,
    onDrawn: () => void,
  ) {
    this.draw = oncePerFrame(() => {
      this.update();
      onDrawn();
    });
    this.element.append(this.tail);
  }

  changed(): void {
    this.draw();
  }

  private update(): void {
    const { answer, phase } = this.exchange;
    if (this.settled && answer === this.drawn) return;
    if (this.settled || !answer.startsWith(this.drawn)) this.restart();
    this.drawn = answer;
    const { settled, tail } = this.markdown.grow(answer);
    if (settled !== "") this.tail.before(fragment(settled));
    this.tail.replaceChildren(fragment(tail));
    if (phase === "done") this.settle();
  }

  /** Draws the whole text again if it looks different as one, as it does with links defined at its end. */
  private settle(): void {
    this.settled = true;
    const whole = fragment(render(this.exchange.answer));
    this.tail.replaceWith(...this.tail.childNodes);
    const wanted = make("div", {}, whole);
    if (wanted.innerHTML !== this.element.innerHTML) this.element.replaceChildren(...wanted.childNodes);
  }

  private restart(): void {
    this.settled = false;
    this.markdown = new GrowingMarkdown();
    this.element.replaceChildren(this.tail);
  }
}
