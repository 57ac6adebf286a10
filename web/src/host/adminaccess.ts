// SPDX-License-Identifier: MIT

// Does what needs the admin key, and asks a person for it.
import { type Signal, signal } from "@preact/signals";
import { t } from "../language/language.ts";
import type { AdminKey } from "./apikeys.ts";
import { Refused } from "./rest.ts";

/** The dialog that asks for the admin key. */
export interface KeyQuestion {
  refused: boolean; // a key was given, and is not the host's
  answer(key: string | undefined, remember: boolean): void; // undefined: never mind
}

/** What a person does at the host who has its admin key. */
export class AdminAccess {
  readonly question: Signal<KeyQuestion | undefined> = signal(undefined);
  readonly closed = signal(false); // nobody can change anything over the network
  private asking: Promise<boolean> | undefined;

  constructor(private readonly admin: Pick<AdminKey, "key" | "keep" | "forget">) {}

  /**
   * Does what needs the key, and asks for the key until it is right. Throws NoKey where a person
   * gives up.
   */
  async act<T>(work: (key: string) => Promise<T>): Promise<T> {
    for (;;) {
      const { key } = this.admin;
      try {
        const result = await work(key);
        this.closed.value = false;
        return result;
      } catch (error) {
        if (!(error instanceof Refused)) throw error;
        if (error.error.code === "admin_disabled") this.closed.value = true;
        if (error.status !== 401) throw error;
        if (this.admin.key !== key) continue; // another act has asked for it meanwhile
        this.admin.forget();
        this.asking ??= this.ask(key !== "");
        if (!(await this.asking)) throw new NoKey();
      }
    }
  }

  private ask(refused: boolean): Promise<boolean> {
    return new Promise((resolve) => {
      const answer = (key: string | undefined, remember: boolean) => {
        this.question.value = undefined;
        this.asking = undefined;
        if (key !== undefined) this.admin.keep(key, remember);
        resolve(key !== undefined);
      };
      this.question.value = { refused, answer };
    });
  }
}

/** Nobody gave the admin key. */
export class NoKey extends Error {
  constructor() {
    super(t("Nothing was changed: that needs the admin key."));
  }
}
