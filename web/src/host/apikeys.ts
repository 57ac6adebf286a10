// SPDX-License-Identifier: MIT

// Keeps the API key and the admin key in the browser.
import type { SmallStorage } from "../storage.ts";

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

const adminItem = "penstock.adminkey";

/** The admin key. It is forgotten with the tab, unless a person wants it remembered. */
export class AdminKey {
  constructor(
    private readonly session: SmallStorage,
    private readonly local: SmallStorage,
  ) {}

  get key(): string {
    return this.session.getItem(adminItem) ?? this.local.getItem(adminItem) ?? "";
  }

  keep(key: string, remember: boolean): void {
    this.forget();
    (remember ? this.local : this.session).setItem(adminItem, key);
  }

  forget(): void {
    this.session.removeItem(adminItem);
    this.local.removeItem(adminItem);
  }
}
