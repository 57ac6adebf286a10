// SPDX-License-Identifier: MIT

// An MCP server behind OAuth: the SDK's own router and its provider for demonstrations, which gives
// refresh tokens here and asks whoever signs in.
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { createServer, type Server as HTTPServer } from "node:http";
import { createRequire } from "node:module";
import type { AddressInfo } from "node:net";
import { DemoInMemoryAuthProvider } from "@modelcontextprotocol/sdk/examples/server/demoInMemoryOAuthProvider.js";
import { InvalidTokenError } from "@modelcontextprotocol/sdk/server/auth/errors.js";
import { requireBearerAuth } from "@modelcontextprotocol/sdk/server/auth/middleware/bearerAuth.js";
import type { AuthorizationParams } from "@modelcontextprotocol/sdk/server/auth/provider.js";
import {
  getOAuthProtectedResourceMetadataUrl,
  mcpAuthRouter,
} from "@modelcontextprotocol/sdk/server/auth/router.js";
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { StreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/streamableHttp.js";
import type { OAuthClientInformationFull, OAuthTokens } from "@modelcontextprotocol/sdk/shared/auth.js";

const sdk = createRequire(import.meta.url).resolve("@modelcontextprotocol/sdk/server/auth/router.js");
const express = createRequire(sdk)("express"); // the SDK's own, which has no types here

class Provider extends DemoInMemoryAuthProvider {
  refreshed = 0;
  private readonly inner = this as unknown as { codes: Map<string, unknown>; tokens: Map<string, unknown> };
  private readonly refresh = new Set<string>();

  override async authorize(
    client: OAuthClientInformationFull,
    params: AuthorizationParams,
    response: { send(html: string): void },
  ): Promise<void> {
    const code = randomUUID();
    this.inner.codes.set(code, { client, params });
    const back = (more: Record<string, string>) =>
      `${params.redirectUri}?${new URLSearchParams({ state: params.state ?? "", ...more })}`;
    const deny = back({ error: "access_denied" });
    response.send(`<a href="${back({ code })}">Allow</a> <a href="${deny}">Deny</a>`);
  }

  override async exchangeAuthorizationCode(
    client: OAuthClientInformationFull,
    code: string,
    verifier?: string,
  ): Promise<OAuthTokens> {
    return this.refreshable(await super.exchangeAuthorizationCode(client, code, verifier));
  }

  override async exchangeRefreshToken(
    client: OAuthClientInformationFull,
    token: string,
  ): Promise<OAuthTokens> {
    if (!this.refresh.delete(token)) throw new Error("no such token");
    this.refreshed++;
    const access = randomUUID();
    const clientId = client.client_id;
    this.inner.tokens.set(access, { token: access, clientId, scopes: [], expiresAt: Date.now() + 3_600_000 });
    return this.refreshable({ access_token: access, token_type: "bearer" });
  }

  override async verifyAccessToken(token: string): ReturnType<DemoInMemoryAuthProvider["verifyAccessToken"]> {
    if (!this.knows(token)) throw new InvalidTokenError("It has expired."); // the demonstration's own is a 500
    return super.verifyAccessToken(token);
  }

  knows(token: string): boolean {
    return this.inner.tokens.has(token);
  }

  /** No access token is valid any more. */
  expire(): void {
    this.inner.tokens.clear();
  }

  private refreshable(tokens: OAuthTokens): OAuthTokens {
    const refresh_token = randomUUID();
    this.refresh.add(refresh_token);
    return { ...tokens, refresh_token };
  }
}

/** Starts it on a free port. by: the only client, where nobody can register. */
export async function startGuarded(by?: {
  client: string;
  redirect: string;
}): Promise<{ url: string; host: string; provider: Provider; http: HTTPServer }> {
  const app = express();
  const http = createServer(app).listen(0, "127.0.0.1");
  await once(http, "listening");
  const host = `127.0.0.1:${(http.address() as AddressInfo).port}`;
  const url = new URL(`http://${host}/mcp`);
  const provider = new Provider();
  if (by !== undefined) {
    const client = { client_id: by.client, redirect_uris: [by.redirect], token_endpoint_auth_method: "none" };
    Object.assign(provider, { clientsStore: { getClient: async () => client } });
  }
  const issuerUrl = new URL(`http://${host}`);
  app.use(mcpAuthRouter({ provider, issuerUrl, resourceServerUrl: url, scopesSupported: ["tools"] }));
  const { path, guard } = {
    path: url.pathname,
    guard: requireBearerAuth({
      verifier: provider,
      resourceMetadataUrl: getOAuthProtectedResourceMetadataUrl(url),
    }),
  };
  app.all(path, allowPages, guard, express.json(), answer);
  return { url: url.href, host, provider, http };
}

// biome-ignore lint/suspicious/noExplicitAny: express has no types here
type Any = any;

function allowPages(request: Any, response: Any, next: () => void): void {
  response.set("Access-Control-Allow-Origin", "*");
  response.set("Access-Control-Allow-Headers", "authorization, content-type, mcp-protocol-version");
  response.set("Access-Control-Expose-Headers", "WWW-Authenticate");
  if (request.method === "OPTIONS") response.end();
  else next();
}

async function answer(request: Any, response: Any): Promise<void> {
  const server = new McpServer({ name: "guarded", version: "1" });
  server.registerTool("secret", { description: "A secret." }, async () => ({
    content: [{ type: "text", text: "42" }],
  }));
  const transport = new StreamableHTTPServerTransport({ sessionIdGenerator: undefined } as object);
  await server.connect(transport as Parameters<McpServer["connect"]>[0]);
  await transport.handleRequest(request, response, request.body);
}
