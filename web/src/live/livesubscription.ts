// SPDX-License-Identifier: MIT

// Asks the host for live frames while any part of the page wants them.
import { computed, effect, signal } from "@preact/signals";
import type { Connection } from "../host/connection.ts";

const every = 250; // milliseconds between two frames

/**
 * The one watch of a connection, shared by all parts of the page that want live frames. It ends
 * with the last of them.
 */
export class LiveSubscription {
  private readonly wants = signal(0);

  constructor(connection: Pick<Connection, "status" | "send">) {
    const on = computed(() => connection.status.value.kind === "online" && this.wants.value > 0);
    effect(() => {
      if (!on.value) return undefined;
      connection.send({ type: "watch", every_ms: every });
      return () => connection.send({ type: "watch", every_ms: 0 });
    });
  }

  /** Has live frames sent until the result is called. */
  want(): () => void {
    let wanted = true;
    this.wants.value = this.wants.peek() + 1;
    return () => {
      if (wanted) this.wants.value = this.wants.peek() - 1;
      wanted = false;
    };
  }
}
