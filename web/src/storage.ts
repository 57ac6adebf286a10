// SPDX-License-Identifier: MIT

// The browser's small storage, which may be full, switched off or forbidden.

export type SmallStorage = Pick<Storage, "getItem" | "setItem" | "removeItem">;

/**
 * The browser's localStorage. Where it keeps nothing, or has no room, what is written is known
 * until the page is left.
 */
export class CarefulStorage implements SmallStorage {
  private readonly unkept = new Map<string, string | null>();

  /** find may throw, as reading window.localStorage does where a page may store nothing. */
  constructor(private readonly find: () => SmallStorage) {}

  getItem(name: string): string | null {
    const unkept = this.unkept.get(name);
    if (unkept !== undefined) return unkept;
    try {
      return this.find().getItem(name);
    } catch {
      return null;
    }
  }

  setItem(name: string, value: string): void {
    try {
      this.find().setItem(name, value);
      this.unkept.delete(name);
    } catch {
      this.unkept.set(name, value);
    }
  }

  removeItem(name: string): void {
    try {
      this.find().removeItem(name);
      this.unkept.delete(name);
    } catch {
      this.unkept.set(name, null);
    }
  }
}
