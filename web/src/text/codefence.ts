// SPDX-License-Identifier: MIT

// Follows a fence of code in Markdown while it grows.

/** How a fence of code begins. */
export interface Opener {
  indent: number;
  mark: string; // the least that ends it
  info: string;
}

/** Reads the first line of a fence. */
export function opener(line: string): Opener | undefined {
  const [, indent = "", mark, info = ""] = /^( {0,3})(`{3,}|~{3,})(.*)$/.exec(line) ?? [];
  return mark === undefined ? undefined : { indent: indent.length, mark, info };
}

/**
 * A fence of code that is open. Its text is final as it comes, so that none of it is ever parsed
 * again: only the beginning of a line that may yet end the fence is held back.
 */
export class OpenFence {
  private within = false; // of a line whose beginning was taken
  private readonly ending: RegExp;
  private readonly mayEnd: RegExp;
  private readonly indent: RegExp;

  constructor({ indent, mark }: Opener) {
    this.ending = new RegExp(`^ {0,3}${mark}${mark[0]}*[ \\t]*$`);
    this.mayEnd = new RegExp(`^ {0,3}${mark[0]}*[ \\t]*$`);
    this.indent = new RegExp(`^ {0,${indent}}`);
  }

  /** Takes what it can of text from offset on. done: nothing follows. */
  take(text: string, offset: number, done: boolean): { code: string; offset: number; ended: boolean } {
    let code = "";
    while (offset < text.length) {
      const end = text.indexOf("\n", offset);
      const line = text.slice(offset, end < 0 ? undefined : end);
      const whole = end >= 0 || done;
      if (!this.within && whole && this.ending.test(line)) {
        return { code, offset: end < 0 ? text.length : end + 1, ended: true };
      }
      if (!this.within && !whole && this.mayEnd.test(line)) break;
      code += this.within ? line : line.replace(this.indent, "");
      this.within = end < 0;
      offset = end < 0 ? text.length : end + 1;
      if (end >= 0) code += "\n";
    }
    return { code, offset, ended: done };
  }
}
