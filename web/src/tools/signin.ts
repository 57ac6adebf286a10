// SPDX-License-Identifier: MIT

// Signing in to MCP servers by OAuth: what this browser keeps of it, and how the page hears that a
// person has done so.
import { t } from "../language/language.ts";
import { record } from "../settings/settings.ts";

/** A sign-in, as this browser keeps it. */
export interface SignedIn {
  client: Kept; // as what the page is registered: client_id and others
  tokens?: Kept; // access_token, refresh_token and others; absent: a person has to sign in
  at: number; // when it was made or renewed, in milliseconds as Date.now()
}

/** Texts that the SDK wants back as it has given them. */
type Kept = Readonly<Record<string, string>>;

/** Where a person signs in, and what the way back bears. */
export interface WayIn {
  url: string;
  state: string;
}

/** A server that wants a person to sign in. */
export class SignInNeeded extends Error {
  constructor(readonly way: WayIn) {
    super(t("it wants you to sign in: do so under Tools in the settings"));
  }
}

/** A server where this page cannot register itself: a person has to, and gives the client's id. */
export class ClientNeeded extends Error {}

const longest = 16_000; // letters of a token
const names = [
  "client_id",
  "client_secret",
  "token_endpoint_auth_method",
  "issuer",
  "access_token",
  "refresh_token",
  "token_type",
  "scope",
];
const visible = /^[\x20-\x7e]*$/; // what a header can hold

/** What is valid of a stored sign-in; undefined if nothing of it is. */
export function cleanSignedIn(stored: unknown): SignedIn | undefined {
  const { client, tokens, at } = record(stored);
  const [known, given] = [texts(client), texts(tokens)];
  if (known.client_id === undefined) return undefined;
  const when = typeof at === "number" && Number.isFinite(at) ? at : 0;
  return given.access_token === undefined
    ? { client: known, at: when }
    : { client: known, tokens: given, at: when };
}

/** The texts that are used of what a server has given. */
export function texts(given: unknown): Kept {
  const all = record(given);
  const entries = names.flatMap((name) => {
    const text = all[name];
    return typeof text === "string" && text.length <= longest && visible.test(text) ? [[name, text]] : [];
  });
  return Object.fromEntries(entries);
}

/** What public/oauth.js tells the tabs of this browser. */
const channelName = "penstock-oauth";

/** Resolves when a person has signed in. Other sign-ins and nobody's messages are passed over. */
export function comeBack({ state }: WayIn, signal: AbortSignal): Promise<{ code: string; iss: string }> {
  return new Promise((resolve, reject) => {
    const channel = new BroadcastChannel(channelName);
    const end = (problem: string) => {
      channel.close();
      reject(new Error(problem));
    };
    signal.addEventListener("abort", () => end(t("it was stopped")), { once: true });
    if (signal.aborted) return end(t("it was stopped"));
    channel.addEventListener("message", ({ data }) => {
      const told = record(data);
      const text = (name: string) => (typeof told[name] === "string" ? told[name].slice(0, longest) : "");
      if (text("state") !== state) return;
      if (text("error") === "access_denied") return end(t("the sign-in was declined"));
      if (text("code") === "") {
        const reason = (text("error_description") || text("error")).replace(/[\p{Cc}\p{Cf}]/gu, "");
        return end(t("the sign-in failed: {reason}", { reason: reason.slice(0, 300) }));
      }
      channel.close();
      resolve({ code: text("code"), iss: text("iss") });
    });
  });
}
