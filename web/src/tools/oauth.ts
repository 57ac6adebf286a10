// SPDX-License-Identifier: MIT

// OAuth for the worker that speaks MCP: the SDK goes through the flow, and this holds what it needs
// for one server, within bounds.
import type { OAuthClientProvider, OAuthDiscoveryState } from "@modelcontextprotocol/sdk/client/auth.js";
import type {
  OAuthClientInformationMixed,
  OAuthClientMetadata,
  OAuthTokens,
} from "@modelcontextprotocol/sdk/shared/auth.js";
import { t } from "../language/language.ts";
import { record } from "../settings/settings.ts";
import { type SignedIn, texts, type WayIn } from "./signin.ts";

const most = { bytes: 256 << 10, address: 8000 }; // of one answer; letters of an address

/** The server asks for a token, but tells of no way to sign in. */
export class NoSignIn extends Error {}

/** The sign-in to one server. */
export class SignIn implements OAuthClientProvider {
  way: WayIn | undefined; // where a person has to go
  discovered: OAuthDiscoveryState | undefined;
  private verifier = "";

  /** keep is called with what this browser is to keep. */
  constructor(
    private readonly server: URL,
    private kept: SignedIn | undefined,
    private readonly keep: (signedIn: SignedIn | undefined) => void,
  ) {}

  /** Takes what the page has kept, if that is newer: another tab may have renewed it. */
  take(signedIn: SignedIn | undefined): void {
    if (signedIn !== undefined && signedIn.at > (this.kept?.at ?? 0)) this.kept = signedIn;
  }

  get signedIn(): SignedIn | undefined {
    return this.kept;
  }

  /** The page beside this worker's folder that ends the flow (public/oauth.html). */
  get redirectUrl(): string {
    return new URL("../oauth.html", self.location.href).href;
  }

  get clientMetadata(): OAuthClientMetadata {
    return {
      client_name: "Penstock",
      redirect_uris: [this.redirectUrl],
      grant_types: ["authorization_code", "refresh_token"],
      response_types: ["code"],
      token_endpoint_auth_method: "none",
    };
  }

  state(): string {
    const bytes = crypto.getRandomValues(new Uint8Array(16));
    return [...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("");
  }

  clientInformation(): OAuthClientInformationMixed | undefined {
    return this.kept?.client as OAuthClientInformationMixed | undefined;
  }

  saveClientInformation(client: OAuthClientInformationMixed): void {
    this.change({ ...this.kept, client: texts(client) });
  }

  tokens(): OAuthTokens | undefined {
    return this.kept?.tokens as OAuthTokens | undefined;
  }

  saveTokens(tokens: OAuthTokens): void {
    const kept = texts(tokens);
    if (this.kept === undefined || kept.access_token === undefined)
      throw new Error(t("the token that it gives cannot be used"));
    this.way = undefined;
    this.change({ ...this.kept, tokens: kept });
  }

  redirectToAuthorization(url: URL): void {
    mustBeSafe(url, this.server);
    this.way = { url: url.href, state: url.searchParams.get("state") ?? "" };
  }

  saveCodeVerifier(verifier: string): void {
    this.verifier = verifier;
  }

  codeVerifier(): string {
    return this.verifier;
  }

  saveDiscoveryState(state: OAuthDiscoveryState): void {
    mustBeSafe(this.server, this.server); // it gets the token
    if (state.authorizationServerMetadata === undefined) throw new NoSignIn();
    this.discovered = state;
  }

  discoveryState(): OAuthDiscoveryState | undefined {
    return this.discovered;
  }

  /** Whether what came back with this issuer, or "", is of the server that was asked. */
  isOf(issuer: string): boolean {
    const { authorizationServerUrl, authorizationServerMetadata: told } = this.discovered ?? {};
    if (issuer === "") return record(told).authorization_response_iss_parameter_supported !== true;
    if (issuer !== told?.issuer || !URL.canParse(issuer)) return false;
    // Metadata can claim anybody's name. They have it from there, or bring the code there.
    const { origin } = new URL(issuer);
    return [authorizationServerUrl, told.token_endpoint].some((url) => url && new URL(url).origin === origin);
  }

  invalidateCredentials(scope: "all" | "client" | "tokens" | "verifier" | "discovery"): void {
    if (scope === "all" || scope === "discovery") this.discovered = undefined;
    if (scope === "all" || scope === "client") {
      this.kept = undefined;
      this.keep(undefined);
    } else if (scope === "tokens" && this.kept !== undefined) {
      const { tokens: _, ...rest } = this.kept;
      this.change(rest);
    }
  }

  private change(signedIn: Omit<SignedIn, "at">): void {
    this.kept = { ...signedIn, at: Date.now() };
    this.keep(this.kept);
  }
}

/** Fetches what belongs to a server's sign-in. Only the server says where that is. */
export async function fetchForSignIn(server: URL, url: string | URL, init?: RequestInit): Promise<Response> {
  mustBeSafe(new URL(url), server);
  const response = await fetch(url, init);
  if (response.body === null) return response;
  let left = most.bytes;
  const counted = new TransformStream<Uint8Array, Uint8Array>({
    transform: (chunk, stream) => {
      left -= chunk.byteLength;
      if (left >= 0) stream.enqueue(chunk);
      else stream.error(new Error(t("its sign-in sends more than {kb} KB", { kb: most.bytes >> 10 })));
    },
  });
  return new Response(response.body.pipeThrough(counted), response);
}

type Fetch = (url: string, init?: RequestInit) => Promise<Response>;

/**
 * Has requests that renew a token at the same time share the answer: a refresh token is good for
 * one, and the others would be told that it is not.
 */
export function renewedOnce(fetch: Fetch): Fetch {
  let last: { asked: string; answer: Promise<Response> } | undefined;
  return async (url, init) => {
    const asked = `${url} ${init?.body}`;
    if (!(init?.body instanceof URLSearchParams) || init.body.get("grant_type") !== "refresh_token")
      return fetch(url, init);
    if (last?.asked !== asked) last = { asked, answer: fetch(url, init) };
    const mine = last;
    const answer = await mine.answer.catch(() => undefined);
    if (!answer?.ok && last === mine) last = undefined; // it may be asked once more
    return (await mine.answer).clone();
  };
}

/**
 * A sign-in is over https, or within this machine if the server is there, too. It leads to no
 * route of the page's own host, which takes what the page sends for a person's wish.
 */
function mustBeSafe(url: URL, server: URL): void {
  if (url.origin === self.location.origin && url.origin !== server.origin)
    throw new Error(t("its sign-in leads to the server of this page"));
  const local = isLoopback(url) && isLoopback(server) && url.protocol === "http:";
  if ((url.protocol !== "https:" && !local) || url.href.length > most.address)
    throw new Error(
      t("it wants a token, and signing in for one needs https, which {place} has not", {
        place: `${url.protocol}//${url.host}`.slice(0, 100),
      }),
    );
}

function isLoopback({ hostname }: URL): boolean {
  return /^(localhost|.*\.localhost|127\.\d+\.\d+\.\d+|\[::1\])$/.test(hostname);
}
