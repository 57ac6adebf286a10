// SPDX-License-Identifier: MIT

// The MCP servers that a person has added, what their tools are called, and which may run unasked.
import { type ReadonlySignal, type Signal, signal } from "@preact/signals";
import type { FunctionDefinition } from "../host/protocol.ts";
import { keptRecord, mostInSettings, record, type Settings } from "../settings/settings.ts";
import type { SmallStorage } from "../storage.ts";
import { cleanSignedIn, type SignedIn } from "./signin.ts";
import type { ServerOffer } from "./workerprotocol.ts";

/** An MCP server, and what a person has said about its tools. */
export interface ToolServer {
  url: string; // its address, by which it is known
  name: string;
  token: string; // goes with each request as a bearer token; "": none
  signedIn?: SignedIn | undefined; // by OAuth, in place of a token
  tools: FunctionDefinition[]; // as it told them last
  off: string[]; // tools that the model is not told of
  always: string[]; // tools that run without a question
}

/** A function that the model may call, and who answers it. */
export interface OfferedTool {
  definition: FunctionDefinition;
  server?: ToolServer; // absent: a person answers
  tool?: string; // what the server calls it
}

const item = "penstock.servers";
const most = { tools: 128, offered: 512, description: 4000, letters: 128 << 10 };
const toolNames = /^[^\p{Cc}\p{Cf}]{1,128}$/u; // of servers: any that cannot turn what stands beside it

/** The MCP servers of this browser, kept from one visit to the next. */
export class ToolServers {
  private readonly kept: Signal<readonly ToolServer[]>;

  constructor(private readonly storage: Pick<SmallStorage, "getItem" | "setItem">) {
    this.kept = signal(this.read());
  }

  get list(): ReadonlySignal<readonly ToolServer[]> {
    return this.kept;
  }

  /** Adds a server, or replaces the one with its address. False: there are too many. */
  put(server: ToolServer): boolean {
    const list = this.read();
    const at = list.findIndex(({ url }) => url === server.url);
    if (at < 0 && list.length >= mostInSettings.servers) return false;
    this.keep(at < 0 ? [...list, server] : list.with(at, server));
    return true;
  }

  /** Changes what is kept of a server, if it is still there. */
  change(url: string, change: (server: ToolServer) => ToolServer): void {
    this.keep(this.read().map((server) => (server.url === url ? change(server) : server)));
  }

  /**
   * Takes over what a server tells of itself now. A tool that it describes otherwise than when it
   * was allowed to run unasked needs a permission again.
   */
  told(url: string, { name, tools: list }: Pick<ServerOffer, "name" | "tools">): void {
    const tools = cleanTools(list);
    this.change(url, (kept) => {
      const before = new Set(kept.tools.map((tool) => JSON.stringify(tool)));
      const same = new Set(tools.flatMap((tool) => (before.has(JSON.stringify(tool)) ? [tool.name] : [])));
      return { ...kept, name, tools, always: kept.always.filter((tool) => same.has(tool)) };
    });
  }

  /** Keeps what became of a sign-in. Tokens that were on their way at a sign-out are not kept. */
  keepSignIn(url: string, signedIn: SignedIn | undefined): void {
    this.change(url, (kept) =>
      signedIn?.tokens !== undefined && kept.signedIn === undefined ? kept : { ...kept, signedIn },
    );
  }

  remove(url: string): void {
    this.keep(this.read().filter((server) => server.url !== url));
  }

  /** The functions that the model may call with these settings, each under a name of its own. */
  offered({ tools = [], servers = [] }: Settings): OfferedTool[] {
    const offered = new Map<string, OfferedTool>();
    for (const { off, ...definition } of tools) if (!off) offered.set(definition.name, { definition });
    for (const server of this.kept.value.filter(({ url }) => servers.includes(url)))
      for (const tool of server.tools.filter(({ name }) => !server.off.includes(name))) {
        const name = freeName(tool.name, server.name, offered);
        offered.set(name, { definition: { ...tool, name }, server, tool: tool.name });
      }
    return [...offered.values()].slice(0, most.offered);
  }

  /** Whether a tool may run without a question: another tab may have taken that back. */
  mayRun({ url }: ToolServer, tool: string): boolean {
    return this.read().some((server) => server.url === url && server.always.includes(tool));
  }

  private keep(list: readonly ToolServer[]): void {
    this.storage.setItem(item, JSON.stringify(list));
    this.kept.value = list;
  }

  private read(): ToolServer[] {
    try {
      const stored: unknown = JSON.parse(this.storage.getItem(item) ?? "[]");
      return Array.isArray(stored) ? stored.flatMap(cleanServer).slice(0, mostInSettings.servers) : [];
    } catch {
      return []; // not written by this page
    }
  }
}

/** What is valid of the tools that a server tells of. */
export function cleanTools(told: unknown): FunctionDefinition[] {
  const tools = new Map<string, FunctionDefinition>();
  let letters = 0; // of all
  for (const entry of Array.isArray(told) ? told.slice(0, most.tools) : []) {
    const { name, description, parameters } = record(entry);
    if (typeof name !== "string" || !toolNames.test(name) || tools.has(name)) continue;
    const said = typeof description === "string" ? description.slice(0, most.description) : "";
    const schema = keptRecord(parameters);
    const length = said.length + JSON.stringify(schema).length;
    if (letters + length > most.letters) continue;
    letters += length;
    tools.set(name, { name, description: said, parameters: schema });
  }
  return [...tools.values()];
}

function cleanServer(stored: unknown): ToolServer[] {
  const { url, name, token, signedIn, tools, off, always } = record(stored);
  if (typeof url !== "string" || !/^https?:\/\//.test(url)) return [];
  const texts = (value: unknown) => (Array.isArray(value) ? value.map(String) : []);
  const called = typeof name === "string" && name !== "" ? name : url;
  return [
    {
      url,
      name: called,
      token: typeof token === "string" ? token : "",
      ...(signedIn !== undefined && { signedIn: cleanSignedIn(signedIn) }),
      tools: cleanTools(tools),
      off: texts(off),
      always: texts(always),
    },
  ];
}

/** A name that the host takes, and that no other tool has. */
function freeName(tool: string, server: string, taken: ReadonlyMap<string, unknown>): string {
  const plain = (name: string) => name.replace(/[^\w-]+/g, "_").slice(0, 60);
  const [short, long] = [plain(tool), plain(`${server}_${tool}`)];
  if (!taken.has(short)) return short;
  if (!taken.has(long)) return long;
  let n = 2;
  while (taken.has(`${long}_${n}`)) n++;
  return `${long}_${n}`;
}
