// SPDX-License-Identifier: MIT

// Fetches from a server that anybody may run.

import { t } from "../language/language.ts";

/** What a server may cost until it is asked again. */
export const allowed = { bytes: 8 << 20, requests: 100 };

/** Fetches within what a server may cost. One that wants more is given up. */
export class BoundedFetch {
  problem: string | undefined; // why the server was given up
  private left = { ...allowed };

  constructor(
    private readonly giveUp: () => void,
    private readonly within: typeof fetch = (url, init) => fetch(url, init),
  ) {}

  /** The server is asked again. */
  renew(): void {
    this.left = { ...allowed };
  }

  readonly fetch = async (url: string | URL, init: RequestInit = {}): Promise<Response> => {
    // A stream of notices that nobody reads would hold one of the few connections of the browser.
    // One that goes on with an answer names the last event that came.
    if (init.method === "GET" && !new Headers(init.headers).has("last-event-id"))
      return new Response(null, { status: 405 });
    if (--this.left.requests < 0)
      throw this.end(t("it wants more than {n} requests", { n: allowed.requests }));
    const response = await this.within(url, init);
    if (response.body === null) return response;
    const counted = new TransformStream<Uint8Array, Uint8Array>({
      transform: (chunk, stream) => {
        this.left.bytes -= chunk.byteLength;
        if (this.left.bytes >= 0) stream.enqueue(chunk);
        else stream.error(this.end(t("it sends more than {mb} MB", { mb: allowed.bytes >> 20 })));
      },
    });
    return new Response(response.body.pipeThrough(counted), response);
  };

  private end(problem: string): Error {
    this.problem = problem;
    this.giveUp();
    return new Error(problem);
  }
}
