// SPDX-License-Identifier: MIT

const item = "penstock.key";

/** The API key, kept in the browser from one visit to the next. */
export class KeyKeeper {
  constructor(private readonly storage: Pick<Storage, "getItem" | "setItem" | "removeItem">) {}

  get key(): string {
    return this.storage.getItem(item) ?? "";
  }

  set key(key: string) {
    if (key === "") this.storage.removeItem(item);
    else this.storage.setItem(item, key);
  }
}
