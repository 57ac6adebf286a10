// SPDX-License-Identifier: MIT
import { after, before } from "node:test";

/**
 * What the test files of one process share: it begins before the first test of a file that uses
 * it, and ends after the last.
 */
export class Shared<T> {
  private users = 0;
  private begun: Promise<T> | undefined;
  private made: T | undefined;

  constructor(
    private readonly begin: () => Promise<T>,
    private readonly end: (it: T) => Promise<void>,
  ) {}

  /** A test file calls this while it is loaded. */
  use(): void {
    this.users++;
    before(async () => {
      this.begun ??= this.begin();
      this.made = await this.begun;
    });
    after(async () => {
      this.users--;
      if (this.users === 0 && this.made !== undefined) await this.end(this.made);
    });
  }

  get it(): T {
    if (this.made === undefined) throw new Error("the test file does not use it, or not yet");
    return this.made;
  }
}
