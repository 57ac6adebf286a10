// SPDX-License-Identifier: MIT

// Reads the exports of other programs: ChatGPT, Open WebUI, llama-server's page and LM Studio.
import { t } from "../language/language.ts";
import { fromDataURL } from "../media/dataurl.ts";
import { typeOf } from "../media/mediatype.ts";
import { sha256 } from "../media/sha256.ts";
import { defaultSettings, record } from "../settings/settings.ts";
import { isRecord, parsedJSON } from "../text/parsedjson.ts";
import type { WholeChat } from "./chats.ts";
import { cleanChat, cleanMessage, cleanTree, text } from "./cleanchat.ts";
import { type Attachment, type Message, newID } from "./message.ts";

type Raw = Record<string, unknown>;

/** One node of another program's chat. Those that are no question and no answer lead to others. */
interface Entry {
  id: string;
  parent: string | null;
  role: "user" | "assistant" | "other";
  at?: number; // milliseconds
  content?: string;
  reasoning?: string; // of an answer; of another node it belongs to the answer that follows
  model?: string;
  files?: Attachment[];
  calls?: unknown[]; // of tools
  result?: { call: string; content: string }; // of a call of an answer before it
}

/** Another program's chat, in terms that all of them share. */
interface Foreign {
  id: unknown;
  title: unknown;
  created: number;
  changed?: number;
  system?: string;
  nodes: Entry[];
  shown?: string; // the last node that is shown
  files?: Map<string, Blob>;
}

/**
 * The chats of a file of another program; undefined if it is none that this page knows. What is
 * not valid in it is left out.
 */
export function readForeign(file: unknown): WholeChat[] | undefined {
  const list = Array.isArray(file) ? file : [file];
  const read = list.map((chat) => {
    const raw = record(chat);
    return readers.find(([fits]) => fits(raw))?.[1](raw);
  });
  if (read.every((chat) => chat === undefined)) return undefined;
  return read.flatMap((chat) => (chat === undefined ? [] : whole(chat)));
}

const readers: readonly (readonly [(raw: Raw) => boolean, (raw: Raw) => Foreign])[] = [
  [({ mapping }) => isRecord(mapping), chatGPT],
  [({ chat }) => isRecord(chat), openWebUI],
  [({ conv, messages }) => isRecord(conv) && Array.isArray(messages), llamaServer],
  [({ messages }) => Array.isArray(messages) && messages.some(isSaid), lmStudio],
];

/** The chat as this page keeps it; none where it has no question and no answer. */
function whole({ id, title, created, changed, system = "", nodes, shown, files }: Foreign): WholeChat[] {
  const chat = idOf(id);
  const tree = new Tree(nodes);
  const ids = new Map([...tree.said].map((node) => [node.id, newID()]));
  const messages = [...tree.said].flatMap((node, order) => {
    const { kept, reasoning } = tree.above(node);
    const message = cleanMessage({
      id: ids.get(node.id),
      chat,
      parent: ids.get(kept ?? "") ?? null,
      role: node.role,
      created: node.at ?? created + order,
      content: node.content ?? "",
      files: node.files,
      ...(node.role === "assistant" && answerFields(node, reasoning, tree.results(node), created)),
    });
    return message === undefined ? [] : [message];
  });
  const branches: Record<string, string> = {};
  for (const node of tree.way(shown)) {
    const [above, below] = [ids.get(tree.above(node).kept ?? "") ?? "", ids.get(node.id)];
    if (below !== undefined) branches[above] = below;
  }
  const settings = { ...defaultSettings, system };
  const info = cleanChat({
    id: chat,
    title: named(title, messages),
    created,
    changed: changed ?? created,
    settings,
    branches,
  });
  if (info === undefined || messages.length === 0) return [];
  const clean = cleanTree(messages);
  return [{ info, messages: clean, ...(files !== undefined && files.size > 0 && { files }) }];
}

function answerFields(
  { reasoning = "", model = "", calls, at }: Entry,
  before: string,
  results: unknown[],
  created: number,
): Raw {
  const thought = [before, reasoning].filter((text) => text !== "").join("\n\n");
  const reason = results.length > 0 ? "tool_calls" : "stop";
  return {
    ...(thought !== "" && { reasoning: thought }),
    ...(results.length > 0 && { calls, results }),
    answer: { phase: "done", model, asked: at ?? created, outcome: { reason } },
  };
}

function named(title: unknown, messages: readonly Message[]): string {
  if (typeof title === "string" && title.trim() !== "") return title.trim().slice(0, 200);
  const line = (messages[0]?.content ?? "").trim().replace(/\s+/g, " ");
  return line === "" ? t("Imported chat") : line.slice(0, 60);
}

/** The nodes of a chat, and where each hangs once those that say nothing are left out. */
class Tree {
  readonly said: ReadonlySet<Entry>;
  private readonly nodes = new Map<string, Entry>();
  private readonly passed = new Map<string, { kept: string | null; reasoning: string }>(); // by nodes that say nothing
  private readonly answered = new Map<string, { call: string; content: string }[]>(); // by answer

  constructor(nodes: readonly Entry[]) {
    for (const node of nodes) if (!this.nodes.has(node.id)) this.nodes.set(node.id, node);
    this.said = new Set([...this.nodes.values()].filter(saysSomething));
    for (const node of this.nodes.values()) {
      const { result } = node;
      const { kept } = result === undefined ? { kept: null } : this.above(node);
      if (kept === null || result === undefined) continue;
      const known = this.answered.get(kept);
      if (known === undefined) this.answered.set(kept, [result]);
      else known.push(result);
    }
  }

  /** The message that comes before a node, and what was thought between them. */
  above({ parent }: Entry): { kept: string | null; reasoning: string } {
    const way: Entry[] = [];
    const seen = new Set<string>();
    let found = { kept: null as string | null, reasoning: "" };
    for (let at = parent; at !== null && !seen.has(at); ) {
      seen.add(at);
      const node = this.nodes.get(at);
      const known = this.passed.get(at);
      if (known !== undefined) found = known;
      else if (node !== undefined && this.said.has(node)) found = { kept: at, reasoning: "" };
      if (node === undefined || known !== undefined || this.said.has(node)) break;
      way.push(node);
      at = node.parent;
    }
    for (const { id, reasoning = "" } of way.reverse()) {
      found = { kept: found.kept, reasoning: [found.reasoning, reasoning].filter(Boolean).join("\n\n") };
      this.passed.set(id, found);
    }
    return found;
  }

  /** What tools answered to an answer's calls. */
  results({ id }: Entry): { call: string; content: string }[] {
    return this.answered.get(id) ?? [];
  }

  /** The messages from the first to the last one that is shown, in any order. */
  way(last: string | undefined): Entry[] {
    const way = new Set<Entry>();
    for (let at = last ?? null; at !== null; ) {
      const node = this.nodes.get(at);
      if (node === undefined || way.has(node)) break;
      way.add(node);
      at = node.parent;
    }
    return [...way].filter((node) => this.said.has(node));
  }
}

function saysSomething({ role, content = "", calls = [], files = [] }: Entry): boolean {
  return role !== "other" && (content !== "" || calls.length > 0 || files.length > 0);
}

/** A conversation of ChatGPT's conversations.json. */
function chatGPT(raw: Raw): Foreign {
  const nodes = Object.entries(record(raw.mapping)).map(([id, value]): Entry => {
    const { message, parent } = record(value);
    return { id, parent: text(parent) || null, ...ofChatGPT(record(message)) };
  });
  return {
    id: raw.conversation_id ?? raw.id,
    title: raw.title,
    created: seconds(raw.create_time) ?? 0,
    changed: seconds(raw.update_time) ?? 0,
    nodes,
    shown: text(raw.current_node),
  };
}

function ofChatGPT(message: Raw): Omit<Entry, "id" | "parent"> {
  const { content_type: kind, parts, text: told, thoughts } = record(message.content);
  const { is_visually_hidden_from_conversation: hidden, model_slug: model } = record(message.metadata);
  const { role } = record(message.author);
  if (kind === "thoughts")
    return { role: "other", reasoning: list(thoughts).map(thoughtOf).filter(Boolean).join("\n\n") };
  const shown = hidden !== true && (message.recipient ?? "all") === "all";
  const said = role === "user" || role === "assistant" ? role : "other";
  const at = seconds(message.create_time);
  return {
    role: shown && (kind === "text" || kind === "multimodal_text" || kind === "code") ? said : "other",
    content: withoutMarks(
      kind === "code" ? text(told) : list(parts).map(partOf).filter(Boolean).join("\n\n"),
    ),
    model: text(model),
    ...(at !== undefined && { at }),
  };
}

function thoughtOf(thought: unknown): string {
  const { summary, content } = record(thought);
  return [text(summary), text(content)].filter(Boolean).join("\n\n");
}

function partOf(part: unknown): string {
  if (typeof part === "string") return part;
  const { content_type: kind, text: told } = record(part);
  if (kind === "image_asset_pointer") return t("(a picture that is not in the file)");
  return text(told);
}

/** Without the marks that lead to sources, which only ChatGPT's own page can follow. */
function withoutMarks(content: string): string {
  return content.replace(/\ue200[^\ue200\ue201]*\ue201/g, "").trim();
}

/** A chat of Open WebUI, alone or from a list of all. */
function openWebUI(raw: Raw): Foreign {
  const chat = record(raw.chat);
  const { messages, currentId } = record(chat.history);
  const files = new Map<string, Blob>();
  const nodes = Object.entries(record(messages)).map(([id, value]): Entry => {
    const { role, content, parentId, timestamp, model, files: attached } = record(value);
    const at = seconds(timestamp);
    const { said, thought } = withoutDetails(text(content));
    return {
      id,
      parent: text(parentId) || null,
      role: role === "user" || role === "assistant" ? role : "other",
      content: said,
      ...(thought !== "" && { reasoning: thought }),
      model: text(model),
      files: list(attached).flatMap((file) => ofOpenWebUI(file, files)),
      ...(at !== undefined && { at }),
    };
  });
  return {
    id: raw.id ?? chat.id,
    title: raw.title ?? chat.title,
    created: seconds(raw.created_at) ?? number(chat.timestamp) ?? 0,
    changed: seconds(raw.updated_at) ?? 0,
    system: text(record(chat.params).system) || text(chat.system),
    nodes,
    shown: text(currentId),
    files,
  };
}

function ofOpenWebUI(attached: unknown, files: Map<string, Blob>): Attachment[] {
  const { type, name, url, file } = record(attached);
  if (type === "image") return picture(text(name) || "picture", url, files);
  const { data, filename } = record(file);
  const { content } = record(data);
  const called = text(name) || text(filename);
  return typeof content === "string" && called !== "" ? [{ name: called, text: content }] : [];
}

/** A text without what stands folded in it: the reasoning, and calls of tools that are over. */
function withoutDetails(content: string): { said: string; thought: string } {
  const thoughts: string[] = [];
  const said = content.replace(
    /<details type="(\w+)"[^<>]*>(?:\s*<summary>[^<]*<\/summary>)?((?:(?!<\/?details)[\s\S])*)<\/details>/g,
    (_, type, inner) => {
      if (type === "reasoning") thoughts.push(unescaped(inner.replace(/^[ \t]*(?:>|&gt;) ?/gm, "").trim()));
      return "";
    },
  );
  return { said: said.trim(), thought: thoughts.join("\n\n") };
}

const references: Record<string, string> = { lt: "<", gt: ">", quot: '"', "#39": "'", "#x27": "'", amp: "&" };

function unescaped(html: string): string {
  return html.replace(/&(lt|gt|quot|#39|#x27|amp);/g, (_, name) => references[name] ?? "");
}

/** A conversation of llama-server's page. */
function llamaServer({ conv, messages }: Raw): Foreign {
  const { id, name, lastModified, currNode } = record(conv);
  const files = new Map<string, Blob>();
  const all = list(messages).map(record);
  const system = all.find(({ role, type }) => role === "system" && type !== "root");
  return {
    id,
    title: name,
    created: number(all[0]?.timestamp) ?? number(lastModified) ?? 0,
    changed: number(lastModified) ?? 0,
    system: text(system?.content),
    nodes: all.map((message) => ofLlamaServer(message, files)),
    shown: key(currNode),
    files,
  };
}

function ofLlamaServer(message: Raw, files: Map<string, Blob>): Entry {
  const { type, role, content, timestamp, thinking, reasoningContent, toolCalls, toolCallId, extra } =
    message;
  const said = type !== "root" && (role === "user" || role === "assistant") ? role : "other";
  const at = number(timestamp);
  return {
    id: key(message.id),
    parent: key(message.parent) || null,
    role: said,
    content: text(content),
    ...(said !== "other" && { reasoning: text(reasoningContent) || text(thinking) }),
    model: text(message.model),
    files: list(extra).flatMap((file) => ofExtra(record(file), files)),
    calls: list(typeof toolCalls === "string" ? parsedJSON(toolCalls).value : toolCalls),
    ...(role === "tool" && { result: { call: text(toolCallId), content: text(content) } }),
    ...(at !== undefined && { at }),
  };
}

function ofExtra(
  { type, name, content, base64Url, base64Data }: Raw,
  files: Map<string, Blob>,
): Attachment[] {
  const called = text(name) || "file";
  if (type === "imageFile") return picture(called, base64Url, files);
  if (type === "audioFile") return picture(called, `data:;base64,${text(base64Data)}`, files);
  return typeof content === "string" ? [{ name: called, text: content }] : [];
}

/** A conversation of LM Studio, or a plain list of messages as OpenAI's API takes it. */
function lmStudio(raw: Raw): Foreign {
  const nodes: Entry[] = [];
  let parent: string | null = null;
  let system = text(raw.systemPrompt);
  for (const [place, message] of list(raw.messages).map(record).entries()) {
    const versions = Array.isArray(message.versions) ? message.versions.map(record) : [message];
    const all = versions.map((version, n) => ofLMStudio(version, `${place}-${n}`, parent));
    const [first] = versions;
    if (first?.role === "system") system ||= spoken(first.content);
    for (const node of all) nodes.push(node);
    parent = (all[number(message.currentlySelected) ?? 0] ?? all[0])?.id ?? parent;
  }
  return {
    id: raw.id,
    title: raw.name ?? raw.title,
    created: number(raw.createdAt) ?? 0,
    system,
    nodes,
    ...(parent !== null && { shown: parent }),
  };
}

function ofLMStudio(version: Raw, id: string, parent: string | null): Entry {
  const { role, content, steps, senderInfo } = version;
  const blocks = list(steps)
    .map(record)
    .filter(({ type }) => type === "contentBlock");
  const isThought = ({ style }: Raw) => record(style).type === "thinking";
  const all = (some: readonly Raw[]) =>
    some
      .map((block) => spoken(block.content))
      .filter(Boolean)
      .join("\n\n");
  const thought = all(blocks.filter(isThought));
  return {
    id,
    parent,
    role: role === "user" || role === "assistant" ? role : "other",
    content: [spoken(content), all(blocks.filter((block) => !isThought(block)))].filter(Boolean).join("\n\n"),
    ...(thought !== "" && { reasoning: thought }),
    model: text(record(senderInfo).senderName),
  };
}

/** What a content says, which is a text or a list of parts. */
function spoken(content: unknown): string {
  if (typeof content === "string") return content;
  const parts = list(content).map(record);
  return parts.map(({ type, text: told }) => (type === "text" ? text(told) : "")).join("");
}

function isSaid(message: unknown): boolean {
  const { versions, role } = record(message);
  return Array.isArray(versions) || role === "user" || role === "assistant";
}

/** A picture or a sound of a data: URL; none where it is no type that the host reads. */
function picture(name: string, url: unknown, files: Map<string, Blob>): Attachment[] {
  try {
    const bytes = fromDataURL(text(url));
    const type = typeOf(bytes);
    if (type === undefined) return [];
    const file = sha256(bytes);
    files.set(file, new Blob([bytes], { type }));
    return [{ name, file, type, size: bytes.length }];
  } catch {
    return []; // it is elsewhere, or no base64
  }
}

/** The id of another program as one of this page: the same again at the next import. */
function idOf(id: unknown): string {
  return key(id).replace(/\W/g, "").slice(0, 64) || newID();
}

/** An id that may be a number, as in old versions of llama-server's page. */
function key(id: unknown): string {
  return typeof id === "number" ? String(id) : text(id);
}

function seconds(value: unknown): number | undefined {
  const time = number(value);
  return time === undefined ? undefined : Math.round(time * 1000);
}

function number(value: unknown): number | undefined {
  return typeof value === "number" && Number.isFinite(value) ? value : undefined;
}

function list(value: unknown): unknown[] {
  return Array.isArray(value) ? value : [];
}
