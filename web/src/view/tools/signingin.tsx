// SPDX-License-Identifier: MIT

// Signing in to an MCP server by OAuth, in a tab of its own.
import { type Signal, useSignal } from "@preact/signals";
import { t, tx } from "../../language/language.ts";
import { SignInNeeded, type WayIn } from "../../tools/signin.ts";
import type { Address } from "../../tools/workerprotocol.ts";
import { useApp } from "../appcontext.ts";

/** The way that a person has to go, and the server that wants it. */
interface Wanted {
  server: string; // its address
  way: WayIn;
}

/** Does something with a server, once a person has signed in where the server wants that. */
export function useSigningIn(): {
  wanted: Signal<Wanted | undefined>; // for SigningIn
  through<T>(at: Address, signal: AbortSignal, work: (at: Address) => Promise<T>): Promise<T>;
} {
  const app = useApp();
  const wanted = useSignal<Wanted | undefined>(undefined);
  const through = async <T,>(at: Address, signal: AbortSignal, work: (at: Address) => Promise<T>) => {
    try {
      return await work(at);
    } catch (error) {
      if (!(error instanceof SignInNeeded)) throw error;
      wanted.value = { server: at.url, way: error.way };
      try {
        const signedIn = await (await app.connections()).signIn(error.way, signal);
        return await work({ ...at, signedIn });
      } finally {
        wanted.value = undefined;
      }
    }
  };
  return { wanted, through };
}

/**
 * The way to a sign-in. It is a link, which no browser blocks, and which says where it leads before
 * it is followed.
 */
export function SigningIn({ server, way }: Wanted) {
  const { host } = new URL(way.url);
  return (
    <p role="status">
      {tx("{server} wants you to sign in:", { server: new URL(server).host })}{" "}
      <a href={way.url} target="_blank" rel="noreferrer">
        {t("Sign in at {host}", { host })}
      </a>
    </p>
  );
}
