// SPDX-License-Identifier: MIT

// Makes the request for an answer from a chat's settings and messages.
import { callsOf, isMedium, type Message, resultOf, type TextFile } from "../chats/message.ts";
import { frameURL } from "../host/fileframes.ts";
import type { ContentPart, FunctionDefinition, GenerateRequest, RequestMessage } from "../host/protocol.ts";
import { type Abilities, allAbilities, isPicture, takesMedium } from "../media/medialimits.ts";
import { entryOf, pluginOf } from "./chain.ts";
import type { Format, PluginChoice, Rule, Settings } from "./settings.ts";

/**
 * The request for an answer to messages. Only plugins that the host offers are named, and of
 * pictures and sounds those that the model takes. Plugins that the host uses by default are
 * switched off by name. functions are those that the model may call.
 */
export function requestFor(
  settings: Settings,
  offered: ReadonlySet<string>,
  messages: readonly Message[],
  abilities: Abilities = allAbilities,
  byDefault: readonly string[] = [],
  functions: readonly FunctionDefinition[] = [],
): GenerateRequest {
  const body: GenerateRequest = {
    messages: requestMessages(settings.system, messages, abilities),
    ...settings.sampling,
  };
  if (settings.model !== undefined) body.model = settings.model;
  if (settings.stop.length > 0) body.stop = settings.stop;
  if (settings.trace) body.trace = true;
  if (settings.templateArgs !== undefined) body.chat_template_kwargs = settings.templateArgs;
  const off = new Set(settings.off);
  const plugins = settings.plugins.filter(({ name }) => offered.has(name) && !off.has(entryOf(name)));
  const used = [
    ...plugins.map((choice) => (isPlain(choice) ? choice.name : choice)),
    ...byDefault.filter((name) => off.has(entryOf(name))).map((name) => ({ name, enabled: false })),
    ...scriptUse(settings),
    ...ruleUses(settings),
  ];
  if (used.length > 0) body.plugins = used;
  if (functions.length > 0) body.tools = functions.map((f) => ({ type: "function", function: f }));
  if (settings.chain !== undefined) {
    const named = new Set(plugins.map(({ name }) => entryOf(name)));
    body.samplers = settings.chain.filter((stage) =>
      pluginOf(stage) === undefined ? !off.has(stage) : named.has(stage),
    );
  }
  return { ...body, ...formatFields(formatOf(settings)) };
}

/** What the answer is bound to: by the last rule that says so, or else by the settings. */
function formatOf({ rules = [], format }: Settings): Format {
  return rules.findLast(({ on, format: bound }) => on && bound !== undefined)?.format ?? format;
}

/** The rules that are scripts, as a request names them. */
function ruleUses({ rules = [] }: Settings): ScriptUse[] {
  const names = ruleNames(rules);
  return rules.flatMap(({ on, source, config }, i) =>
    on && source !== undefined
      ? [{ script: source, name: names[i] ?? "", ...(config !== undefined && { config }) }]
      : [],
  );
}

const longestName = 40; // characters; the host takes 64

/** What rules are called in a request, in errors and in traces: "rule-never-say-frog". */
export function ruleNames(rules: readonly Pick<Rule, "text">[]): string[] {
  const taken = new Set<string>();
  return rules.map(({ text }) => {
    const words = text.toLowerCase().match(/[a-z0-9]+/g) ?? [];
    const name = ["rule", ...words].join("-").slice(0, longestName);
    let free = name;
    for (let n = 2; taken.has(free); n++) free = `${name}-${n}`;
    taken.add(free);
    return free;
  });
}

interface ScriptUse {
  script: string;
  name?: string;
  config?: unknown;
}

/** The script as a request names it, where it is switched on. */
function scriptUse({ script }: Settings): ScriptUse[] {
  if (script === undefined || !script.on || script.source.trim() === "") return [];
  const { source, config } = script;
  return [{ script: source, ...(config.trim() !== "" && { config: jsonOr(config) }) }];
}

function isPlain(choice: PluginChoice): boolean {
  return choice.config === undefined && choice.on_error === undefined;
}

/**
 * The messages as a template takes them: many refuse two questions in a row, so one without an
 * answer is left out.
 */
function requestMessages(
  system: string,
  messages: readonly Message[],
  abilities: Abilities,
): RequestMessage[] {
  const list: RequestMessage[] = system.trim() === "" ? [] : [{ role: "system", content: system }];
  messages.forEach((message, at) => {
    const next = messages[at + 1];
    if (message.role === "user") {
      if (next === undefined || said(next).length > 0)
        list.push({ role: "user", content: question(message, abilities) });
    } else {
      list.push(...said(message));
    }
  });
  return list;
}

// untranslated: for the model
const notAnswered = "This call was not answered: the user went on without it.";

/**
 * What an answer says, with the calls that it ended with and what tools answered. A call that has
 * no answer gets one, as templates take none without.
 */
function said(message: Message): RequestMessage[] {
  const { content, reasoning = "" } = message;
  const calls = message.role === "user" ? [] : callsOf(message);
  if (calls.length === 0) return content === "" ? [] : [{ role: "assistant", content }];
  const thought = reasoning === "" ? {} : { reasoning_content: reasoning }; // some templates want it before a call
  const answers = calls.map((call): RequestMessage => {
    const { content = notAnswered } = resultOf(message, call) ?? {};
    return { role: "tool", tool_call_id: call.id, content };
  });
  return [{ role: "assistant", content, ...thought, tool_calls: calls }, ...answers];
}

/**
 * A question with the files that were added to it: a text, and parts only where there are pictures
 * or sounds.
 */
function question({ content, files = [] }: Message, abilities: Abilities): string | ContentPart[] {
  const texts: string[] = [];
  const parts: ContentPart[] = [];
  for (const file of files) {
    if (!isMedium(file)) texts.push(fenced(file));
    else if (!takesMedium(abilities, file))
      // untranslated: for the model
      texts.push(`(${file.name}: a ${isPicture(file) ? "picture" : "sound"} that you cannot perceive)\n`);
    else if (isPicture(file)) parts.push({ type: "image_url", image_url: { url: frameURL(file.file) } });
    else parts.push({ type: "input_audio", input_audio: { data: frameURL(file.file) } });
  }
  const text = [...texts, content].join("\n");
  if (parts.length === 0) return text;
  return text === "" ? parts : [...parts, { type: "text", text }];
}

function fenced({ name, text }: TextFile): string {
  const fence = "`".repeat(Math.max(3, longestRun(text) + 1));
  return `${name}:\n${fence}\n${text.replace(/\n$/, "")}\n${fence}\n`;
}

function longestRun(text: string): number {
  return (text.match(/`+/g) ?? []).reduce((most, { length }) => Math.max(most, length), 0);
}

function formatFields(format: Format): Record<string, unknown> {
  switch (format.kind) {
    case "text":
      return {};
    case "json":
      return { response_format: { type: "json_object" } };
    case "schema":
      return format.text.trim() === "" ? {} : { json_schema: jsonOr(format.text) };
    default:
      return format.text.trim() === "" ? {} : { [format.kind]: format.text };
  }
}

/**
 * What the text is as JSON. One that is none goes as it is, and the host says what is wrong: an
 * answer without a schema or a script would be worse.
 */
function jsonOr(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
