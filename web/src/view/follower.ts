// SPDX-License-Identifier: MIT
import { byId } from "./dom.ts";

const near = 60; // pixels from the end that still count as reading the end

/** Keeps the end of the conversation in sight, but only for a reader who is there. */
export class Follower {
  private readonly scroller = byId("scroller", HTMLElement);
  private readonly latest = byId("latest", HTMLButtonElement);
  private following = true;

  constructor() {
    this.scroller.addEventListener("scroll", () => this.look(), { passive: true });
    this.latest.addEventListener("click", () => this.toEnd());
    // The space changes too when the window, the keyboard of a phone or the message field does.
    new ResizeObserver(() => this.follow()).observe(this.scroller);
  }

  /** The text has grown: goes along if the reader was at its end. */
  follow(): void {
    if (this.following) this.scroller.scrollTop = this.scroller.scrollHeight;
    else this.look();
  }

  toEnd(): void {
    this.following = true;
    this.follow();
    this.latest.hidden = true;
  }

  private look(): void {
    const { scrollHeight, scrollTop, clientHeight } = this.scroller;
    this.following = scrollHeight - scrollTop - clientHeight < near;
    this.latest.hidden = this.following;
  }
}
