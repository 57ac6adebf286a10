// SPDX-License-Identifier: MIT
import { after, before } from "node:test";

const starting: Promise<unknown>[] = [];

/**
 * Resolves when all is there that has begun: for a file's own `before`. Where a file runs by
 * itself, Node.js 20 begins each of these at once.
 */
export const allThere = () => Promise.all(starting);

/**
 * What the test files of one process share: it begins before the first test of a file that uses
 * it, and ends after the last.
 */
export class Shared<T> {
  private users = 0;
  private begun: Promise<void> | undefined;
  private made: T | undefined;

  constructor(
    private readonly begin: () => Promise<T>,
    private readonly end: (it: T) => Promise<void>,
  ) {}

  /** A test file calls this while it is loaded. */
  use(): void {
    this.users++;
    before(() => {
      this.begun ??= this.begin().then((it) => {
        this.made = it;
      });
      starting.push(this.begun);
      return this.begun;
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
