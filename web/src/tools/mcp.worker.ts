// SPDX-License-Identifier: MIT

// Speaks MCP over Streamable HTTP, with the official SDK. The host lets this file alone call other
// servers (host/api/routes.go), so it does nothing else.
import { UnauthorizedError } from "@modelcontextprotocol/sdk/client/auth.js";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import type { Transport } from "@modelcontextprotocol/sdk/shared/transport.js";
import type {
  JsonSchemaValidatorResult,
  jsonSchemaValidator,
} from "@modelcontextprotocol/sdk/validation/types.js";
import { config } from "zod/v4";
import { t } from "../language/language.ts";
import { record } from "../settings/settings.ts";
import { BoundedFetch } from "./boundedfetch.ts";
import { fetchForSignIn, NoSignIn, renewedOnce, SignIn } from "./oauth.ts";
import { ClientNeeded, type SignedIn, SignInNeeded } from "./signin.ts";
import { cleanTools } from "./toolservers.ts";
import type { Address, Ask, Reply, ServerOffer, ToolAnswer } from "./workerprotocol.ts";

config({ jitless: true }); // the page's policy lets nothing make code of a text

const most = { pages: 20, entries: 500, parameters: 32, signIns: 8 };
const letters = { answer: 100_000, problem: 500, name: 80, uri: 2000, description: 4000 }; // at most
const callTimeout = 300_000; // milliseconds

interface Connection {
  client: Promise<Client>;
  transport: StreamableHTTPClientTransport;
  bounded: BoundedFetch;
  signIn: SignIn | undefined; // where the server has no token
  asking: number; // questions that it is for now
  made: boolean; // which cannot be stopped any more
  stop: AbortController; // ends the making
}

const connections = new Map<string, Connection>(); // by address and token
const signIns = new Map<string, Connection>(); // that a person is about, by state
const running = new Map<number, AbortController>();

self.addEventListener("message", async ({ data: ask }: MessageEvent<Ask>) => {
  if (ask.does === "stop") {
    running.get(ask.id)?.abort();
    return;
  }
  const stop = new AbortController();
  running.set(ask.id, stop);
  const reply = (reply: Reply) => self.postMessage(reply);
  try {
    reply({ id: ask.id, result: await done(ask, stop.signal) });
  } catch (error) {
    if (error instanceof SignInNeeded) reply({ id: ask.id, way: error.way });
    else if (error instanceof ClientNeeded) reply({ id: ask.id, problem: error.message, client: true });
    else reply({ id: ask.id, problem: problemOf(error) });
  } finally {
    running.delete(ask.id);
  }
});

async function done(ask: Exclude<Ask, { does: "stop" }>, signal: AbortSignal): Promise<unknown> {
  switch (ask.does) {
    case "finish":
      return finish(ask);
    case "forget":
      return (await connections.get(keyOf(ask.at))?.client)?.close();
    default:
      return withClient(ask.at, signal, (client) => answer(client, ask, signal));
  }
}

/** Ends a sign-in with the code that a person has brought back. */
async function finish({ state, code, iss }: Extract<Ask, { does: "finish" }>): Promise<unknown> {
  const connection = signIns.get(state);
  signIns.delete(state);
  const { signIn, transport, bounded } = connection ?? {};
  if (signIn === undefined || transport === undefined)
    throw new Error(t("the sign-in is too old: begin it once more"));
  if (!signIn.isOf(iss)) throw new Error(t("the sign-in came back from another server"));
  bounded?.renew();
  await transport.finishAuth(code);
  return signIn.signedIn;
}

/** Does something with a server. One that has forgotten this page since is asked once more. */
async function withClient<T>(
  at: Address,
  signal: AbortSignal,
  work: (client: Client) => Promise<T>,
): Promise<T> {
  const known = connections.has(keyOf(at));
  const connection = connectionTo(at);
  connection.bounded.renew();
  connection.asking++;
  const leave = () => {
    const { made, stop } = connection;
    if (--connection.asking === 0 && signal.aborted && !made) stop.abort(); // nobody waits for it
  };
  signal.addEventListener("abort", leave, { once: true });
  try {
    return await work(await connection.client);
  } catch (error) {
    const { problem } = connection.bounded;
    if (problem !== undefined) throw new Error(problem);
    askToSignIn(at, connection, error);
    if (!known || statusOf(error) !== 404) throw error;
    forget(at, connection);
    return work(await connectionTo(at).client);
  } finally {
    signal.removeEventListener("abort", leave);
    if (!signal.aborted) leave();
  }
}

/** Throws what a person has to do, if that is why a server did not answer. */
function askToSignIn(at: Address, connection: Connection, error: unknown): void {
  const { signIn } = connection;
  if (signIn === undefined) return;
  if (error instanceof UnauthorizedError && signIn.way !== undefined) {
    forget(at, connection);
    signIns.set(signIn.way.state, connection);
    for (const old of [...signIns.keys()].slice(0, -most.signIns)) signIns.delete(old);
    throw new SignInNeeded(signIn.way);
  }
  if (signIn.discovered !== undefined && signIn.signedIn === undefined)
    throw new ClientNeeded(
      t("the page cannot register itself there. Register it with the redirect address {url}", {
        url: signIn.redirectUrl,
      }),
    );
}

function connectionTo(at: Address): Connection {
  const known = connections.get(keyOf(at));
  known?.signIn?.take(at.signedIn);
  if (known !== undefined) return known;
  const client = new Client({ name: "penstock-page", version: "1" }, { jsonSchemaValidator: unchecked });
  const url = new URL(at.url);
  const forSignIn = renewedOnce((where, init) => fetchForSignIn(url, where, init));
  const bounded = new BoundedFetch(
    () => void client.close(),
    (where, init) => (String(where) === url.href ? fetch(where, init) : forSignIn(String(where), init)),
  );
  const headers: Record<string, string> = at.token === "" ? {} : { Authorization: `Bearer ${at.token}` };
  const keep = (keep: SignedIn | undefined) => self.postMessage({ keep, url: at.url } satisfies Reply);
  // The challenges of PKCE need what browsers have in secure contexts only.
  const signIn =
    at.token === "" && self.isSecureContext !== false ? new SignIn(url, at.signedIn, keep) : undefined;
  const transport = new StreamableHTTPClientTransport(url, {
    fetch: bounded.fetch,
    requestInit: { headers },
    ...(signIn && { authProvider: signIn }),
  });
  const stop = new AbortController();
  const connected = client.connect(transport as Transport, { signal: stop.signal }).then(() => {
    connection.made = true;
    return client;
  });
  const connection = { client: connected, transport, bounded, signIn, asking: 0, made: false, stop };
  client.onclose = () => forget(at, connection);
  connected.catch(() => forget(at, connection));
  connections.set(keyOf(at), connection);
  return connection;
}

function forget(at: Address, connection: Connection): void {
  if (connections.get(keyOf(at)) === connection) connections.delete(keyOf(at));
}

function keyOf({ url, token }: Address): string {
  return `${token} ${url}`;
}

/** What tools answer goes to the model as it is; a check would have to make code of its schema. */
const unchecked: jsonSchemaValidator = {
  getValidator:
    <T>() =>
    (input: unknown) =>
      ({ valid: true, data: input as T, errorMessage: undefined }) as JsonSchemaValidatorResult<T>,
};

async function answer(
  client: Client,
  ask: Exclude<Ask, { does: "stop" | "finish" | "forget" }>,
  signal: AbortSignal,
): Promise<unknown> {
  switch (ask.does) {
    case "look":
      return offerOf(client, ask.at, signal);
    case "call": {
      const options = { signal, timeout: callTimeout };
      const given = { name: ask.name, arguments: ask.arguments };
      return toolAnswer(await client.callTool(given, undefined, options));
    }
    case "read": {
      const { contents } = await client.readResource({ uri: ask.uri }, { signal });
      return cut(contents.map((part) => textOf({ type: "resource", resource: part })).join("\n\n"));
    }
    case "prompt": {
      const { messages } = await client.getPrompt({ name: ask.name, arguments: ask.arguments }, { signal });
      return cut(messages.map(({ content }) => textOf(content)).join("\n\n"));
    }
  }
}

async function offerOf(client: Client, { url }: Address, signal: AbortSignal): Promise<ServerOffer> {
  const has = client.getServerCapabilities() ?? {};
  const version = client.getServerVersion();
  const tools = await pages(has.tools, async (from) => {
    const { tools, nextCursor } = await client.listTools(from, { signal });
    return [tools, nextCursor];
  });
  const resources = await pages(has.resources, async (from) => {
    const { resources, nextCursor } = await client.listResources(from, { signal });
    return [resources, nextCursor];
  });
  const prompts = await pages(has.prompts, async (from) => {
    const { prompts, nextCursor } = await client.listPrompts(from, { signal });
    return [prompts, nextCursor];
  });
  return {
    name: named(version?.title ?? version?.name ?? "") || new URL(url).host,
    tools: cleanTools(
      tools.map(({ name, description, inputSchema }) => ({ name, description, parameters: inputSchema })),
    ),
    resources: resources
      .filter(({ uri }) => uri.length <= letters.uri)
      .map(({ uri, name, description }) => ({ uri, name: named(name), description: described(description) })),
    prompts: prompts.map(({ name, description, arguments: given = [] }) => ({
      name,
      description: described(description),
      parameters: given.slice(0, most.parameters).map(({ name, required = false }) => ({ name, required })),
    })),
  };
}

/** All entries of a list that a server tells page by page, as far as that is bearable. */
async function pages<E>(
  offered: unknown, // undefined: it has no such list
  page: (from: { cursor?: string }) => Promise<[entries: E[], next: string | undefined]>,
): Promise<E[]> {
  let all: E[] = [];
  let from: { cursor?: string } = {};
  for (let n = 0; offered !== undefined && n < most.pages && all.length < most.entries; n++) {
    const [entries, next] = await page(from);
    all = all.concat(entries);
    if (next === undefined) break;
    from = { cursor: next };
  }
  return all.slice(0, most.entries);
}

/** A name as it is shown: short, and without characters that turn what stands beside it. */
function named(text: string): string {
  return text
    .replace(/[\p{Cc}\p{Cf}]/gu, "")
    .trim()
    .slice(0, letters.name);
}

function described(text = ""): string {
  return text.slice(0, letters.description);
}

function toolAnswer(result: Record<string, unknown>): ToolAnswer {
  const { content, structuredContent, isError } = result;
  const said = (Array.isArray(content) ? content : []).map(textOf).filter((text) => text !== "");
  if (said.length === 0 && structuredContent !== undefined) said.push(JSON.stringify(structuredContent));
  return { text: cut(said.join("\n\n")), failed: isError === true };
}

/** A part of a content as a text, which is all that a model is told. */
function textOf(part: unknown): string {
  const { type, text, mimeType, resource, name, uri } = record(part);
  if (type === "text") return String(text ?? "");
  if (type === "resource_link") return `${name ?? "Resource"}: ${uri}`; // untranslated: the model reads it
  if (type !== "resource") return `(${type} of type ${mimeType} that is not passed on)`; // untranslated: the model reads it
  const held = record(resource);
  return typeof held.text === "string" ? held.text : `(${held.uri}, which is no text)`; // untranslated: the model reads it
}

function cut(text: string): string {
  const more = text.length - letters.answer;
  return more <= 0 ? text : `${text.slice(0, letters.answer)}\n… (${more} more characters are left out)`; // untranslated: the model reads it
}

/** Why something failed, in words that help. */
function problemOf(error: unknown): string {
  const status = statusOf(error);
  if (status === 401 || status === 403 || error instanceof NoSignIn)
    return t("it wants another token, or one at all");
  if (status === 404 || status === 405)
    return t("there is no MCP server for Streamable HTTP at this address");
  if (error instanceof TypeError)
    return t("it does not answer this page: it is not running, or does not allow pages of {origin} (CORS)", {
      origin: self.location.origin,
    });
  return (error instanceof Error ? error.message : String(error)).slice(0, letters.problem);
}

function statusOf(error: unknown): number | undefined {
  const { code } = record(error);
  return typeof code === "number" ? code : undefined;
}
