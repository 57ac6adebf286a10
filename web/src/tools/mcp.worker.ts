// SPDX-License-Identifier: MIT

// Speaks MCP over Streamable HTTP, with the official SDK. The host lets this file alone call other
// servers (host/api/routes.go), so it does nothing else.
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import type { Transport } from "@modelcontextprotocol/sdk/shared/transport.js";
import type { JsonSchemaValidatorResult, jsonSchemaValidator } from "@modelcontextprotocol/sdk/validation/types.js";
import { config } from "zod/v4";
import type { Address, Ask, Reply, ServerOffer, ToolAnswer } from "./workerprotocol.ts";

config({ jitless: true }); // the page's policy lets nothing make code of a text

const most = { pages: 20, characters: 100_000, entries: 500 };
const callTimeout = 300_000; // milliseconds

const clients = new Map<string, Promise<Client>>(); // by address and token
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
    reply({ id: ask.id, result: await withClient(ask.at, (client) => answer(client, ask, stop.signal)) });
  } catch (error) {
    reply({ id: ask.id, problem: problemOf(error) });
  } finally {
    running.delete(ask.id);
  }
});

/** Does something with a server. One that has forgotten this page since is asked once more. */
async function withClient<T>(at: Address, work: (client: Client) => Promise<T>): Promise<T> {
  const known = clients.has(keyOf(at));
  try {
    return await work(await connected(at));
  } catch (error) {
    if (!known || statusOf(error) !== 404) throw error;
    clients.delete(keyOf(at));
    return work(await connected(at));
  }
}

function connected(at: Address): Promise<Client> {
  const key = keyOf(at);
  const client = clients.get(key) ?? connect(at);
  clients.set(key, client);
  client.catch(() => clients.delete(key));
  return client;
}

async function connect(at: Address): Promise<Client> {
  const client = new Client({ name: "penstock-page", version: "1" }, { jsonSchemaValidator: unchecked });
  const headers: Record<string, string> = at.token === "" ? {} : { Authorization: `Bearer ${at.token}` };
  const transport = new StreamableHTTPClientTransport(new URL(at.url), { requestInit: { headers } });
  client.onclose = () => clients.delete(keyOf(at));
  await client.connect(transport as Transport);
  return client;
}

function keyOf({ url, token }: Address): string {
  return `${token} ${url}`;
}

/** What tools answer goes to the model as it is; a check would have to make code of its schema. */
const unchecked: jsonSchemaValidator = {
  getValidator:
    <T>() =>
    (input: unknown) => ({ valid: true, data: input as T, errorMessage: undefined }) as JsonSchemaValidatorResult<T>,
};

async function answer(
  client: Client,
  ask: Exclude<Ask, { does: "stop" }>,
  signal: AbortSignal,
): Promise<unknown> {
  switch (ask.does) {
    case "look":
      return offerOf(client, ask.at);
    case "call": {
      const options = { signal, timeout: callTimeout };
      const given = { name: ask.name, arguments: ask.arguments };
      return toolAnswer(await client.callTool(given, undefined, options));
    }
    case "read": {
      const { contents } = await client.readResource({ uri: ask.uri });
      return cut(contents.map((part) => textOf({ type: "resource", resource: part })).join("\n\n"));
    }
    case "prompt": {
      const { messages } = await client.getPrompt({ name: ask.name, arguments: ask.arguments });
      return cut(messages.map(({ content }) => textOf(content)).join("\n\n"));
    }
  }
}

async function offerOf(client: Client, { url }: Address): Promise<ServerOffer> {
  const { tools, resources, prompts } = client.getServerCapabilities() ?? {};
  const version = client.getServerVersion();
  const toolList = tools ? await pages(async (from) => {
        const { tools, nextCursor } = await client.listTools(from);
        return [tools, nextCursor];
      }) : [];
  const resourceList = resources ? await pages(async (from) => {
        const { resources, nextCursor } = await client.listResources(from);
        return [resources, nextCursor];
      }) : [];
  const promptList = prompts ? await pages(async (from) => {
        const { prompts, nextCursor } = await client.listPrompts(from);
        return [prompts, nextCursor];
      }) : [];
  return {
    name: version?.title ?? version?.name ?? new URL(url).host,
    tools: toolList.map(({ name, description = "", inputSchema }) => ({
      name,
      description,
      parameters: inputSchema,
    })),
    resources: resourceList.map(({ uri, name, description = "" }) => ({ uri, name, description })),
    prompts: promptList.map(({ name, description = "", arguments: given = [] }) => ({
      name,
      description,
      parameters: given.map((parameter) => ({ name: parameter.name, required: parameter.required === true })),
    })),
  };
}

/** All entries of a list that a server tells page by page, as far as that is bearable. */
async function pages<E>(
  page: (from: { cursor?: string }) => Promise<[entries: E[], next: string | undefined]>,
): Promise<E[]> {
  const all: E[] = [];
  let from: { cursor?: string } = {};
  for (let n = 0; n < most.pages && all.length < most.entries; n++) {
    const [entries, next] = await page(from);
    all.push(...entries);
    if (next === undefined) break;
    from = { cursor: next };
  }
  return all.slice(0, most.entries);
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
  if (type === "resource_link") return `${name ?? "Resource"}: ${uri}`;
  if (type !== "resource") return `(${type} of type ${mimeType} that is not passed on)`;
  const held = record(resource);
  return typeof held.text === "string" ? held.text : `(${held.uri}, which is no text)`;
}

function cut(text: string): string {
  const more = text.length - most.characters;
  return more <= 0 ? text : `${text.slice(0, most.characters)}\n… (${more} more characters are left out)`;
}

/** Why something failed, in words that help. */
function problemOf(error: unknown): string {
  const status = statusOf(error);
  if (status === 401 || status === 403) return "it wants another token, or one at all";
  if (status === 404 || status === 405) return "there is no MCP server for Streamable HTTP at this address";
  if (error instanceof TypeError)
    return `it does not answer this page: it is not running, or does not allow pages of ${self.location.origin} (CORS)`;
  return error instanceof Error ? error.message : String(error);
}

function statusOf(error: unknown): number | undefined {
  const { code } = record(error);
  return typeof code === "number" ? code : undefined;
}

function record(value: unknown): Record<string, unknown> {
  return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : {};
}
