// SPDX-License-Identifier: MIT

// What an MCP server has besides tools: resources and prompts, which go to the message field.
import { useSignal } from "@preact/signals";
import { type Draft, draftPlace } from "../../chats/drafts.ts";
import type { ToolServer } from "../../tools/toolservers.ts";
import type { ServerOffer } from "../../tools/workerprotocol.ts";
import { focusField } from "../chat/focus.ts";
import { useEdit } from "../settings/settingsedit.ts";

/** Asks a server anew what it has, and shows its resources and prompts. */
export function ServerOffers({ server }: { server: ToolServer }) {
  const { app, chat } = useEdit();
  const offer = useSignal<ServerOffer | undefined>(undefined);
  const said = useSignal("");
  const busy = useSignal<AbortController | undefined>(undefined);
  /**
   * Does something with the server, and says what went wrong. What was begun before is stopped.
   */
  const attempt = async (doing: string, work: (signal: AbortSignal) => Promise<string>) => {
    busy.peek()?.abort();
    const mine = new AbortController();
    busy.value = mine;
    said.value = doing;
    let told: string;
    try {
      told = await work(mine.signal);
    } catch (error) {
      told = `${server.name}: ${error instanceof Error ? error.message : error}.`;
    }
    if (busy.peek() !== mine) return;
    busy.value = undefined;
    said.value = told;
  };
  const look = () =>
    attempt("Connecting…", async (signal) => {
      const told = await (await app.connections()).look(server, signal);
      offer.value = told;
      app.servers.told(server.url, told);
      return told.resources.length + told.prompts.length > 0 ? "" : "It has neither resources nor prompts.";
    });
  const add = (change: (draft: Draft) => Partial<Draft>) => {
    const place = draftPlace(chat);
    app.drafts.change(place, change(app.drafts.of(place).peek()));
    focusField();
  };
  const read = (uri: string, name: string) =>
    attempt("Reading…", async (signal) => {
      const text = await (await app.connections()).read(server, uri, signal);
      add(({ files }) => ({ files: [...files, { name, text }] }));
      return `${name} is added to the message.`;
    });
  const use = (name: string, given: Record<string, string>) =>
    attempt("Reading…", async (signal) => {
      const text = await (await app.connections()).prompt(server, name, given, signal);
      add((draft) => ({ text: draft.text === "" ? text : `${draft.text}\n\n${text}` }));
      return `${name} is in the message field.`;
    });
  return (
    <>
      <div class="links">
        <button type="button" class="link" onClick={() => void look()}>
          {offer.value === undefined ? "Show resources and prompts" : "Refresh"}
        </button>
        {busy.value !== undefined && (
          <button type="button" class="link" onClick={() => busy.peek()?.abort()}>
            Stop asking {server.name}
          </button>
        )}
      </div>
      <p class="hint" role="status">
        {said}
      </p>
      {offer.value !== undefined && offer.value.resources.length > 0 && (
        <Resources resources={offer.value.resources} read={(uri, name) => void read(uri, name)} />
      )}
      {offer.value !== undefined && offer.value.prompts.length > 0 && (
        <details open>
          <summary>Prompts</summary>
          <ul class="tools-of">
            {offer.value.prompts.map((prompt) => (
              <Prompt key={prompt.name} prompt={prompt} use={(given) => void use(prompt.name, given)} />
            ))}
          </ul>
        </details>
      )}
    </>
  );
}

interface ResourcesProps {
  resources: ServerOffer["resources"];
  read(uri: string, name: string): void;
}

function Resources({ resources, read }: ResourcesProps) {
  return (
    <details open>
      <summary>Resources</summary>
      <ul class="tools-of">
        {resources.map(({ uri, name, description }) => (
          <li key={uri}>
            <span>{name}</span>
            <button type="button" class="link" aria-label={`Add ${name}`} onClick={() => read(uri, name)}>
              Add
            </button>
            <small>{description || uri}</small>
          </li>
        ))}
      </ul>
    </details>
  );
}

interface PromptProps {
  prompt: ServerOffer["prompts"][number];
  use(given: Record<string, string>): void;
}

/** A prompt with the fields that it takes. */
function Prompt({ prompt: { name, description, parameters }, use }: PromptProps) {
  const given = useSignal<Readonly<Record<string, string>>>({});
  const lacks = parameters.some((parameter) => parameter.required && !given.value[parameter.name]);
  return (
    <li>
      <span>{name}</span>
      <button
        type="button"
        class="link"
        aria-label={`Use ${name}`}
        disabled={lacks}
        onClick={() => use({ ...given.peek() })}
      >
        Use
      </button>
      <small>{description}</small>
      {parameters.map((parameter) => (
        <input
          key={parameter.name}
          type="text"
          autocomplete="off"
          aria-label={`${parameter.name} of ${name}`}
          placeholder={parameter.required ? parameter.name : `${parameter.name} (optional)`}
          value={given.value[parameter.name] ?? ""}
          onInput={(event) => {
            given.value = { ...given.peek(), [parameter.name]: event.currentTarget.value };
          }}
        />
      ))}
    </li>
  );
}
