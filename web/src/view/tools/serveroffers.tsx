// SPDX-License-Identifier: MIT

// What an MCP server has besides tools: resources and prompts, which go to the message field.
import { useSignal } from "@preact/signals";
import { type Draft, draftPlace } from "../../chats/drafts.ts";
import { t } from "../../language/language.ts";
import type { ToolServer } from "../../tools/toolservers.ts";
import type { ServerOffer } from "../../tools/workerprotocol.ts";
import { focusField } from "../chat/focus.ts";
import { useEdit } from "../settings/settingsedit.ts";
import { SigningIn, useSigningIn } from "./signingin.tsx";

/** Asks a server anew what it has, and shows its resources and prompts. */
export function ServerOffers({ server }: { server: ToolServer }) {
  const { app, chat } = useEdit();
  const offer = useSignal<ServerOffer | undefined>(undefined);
  const said = useSignal("");
  const signingIn = useSigningIn();
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
    attempt(t("Connecting…"), async (signal) => {
      const told = await signingIn.through(server, signal, async (at) =>
        (await app.connections()).look(at, signal),
      );
      offer.value = told;
      app.servers.told(server.url, told);
      return told.resources.length + told.prompts.length > 0
        ? ""
        : t("It has neither resources nor prompts.");
    });
  const add = (change: (draft: Draft) => Partial<Draft>) => {
    const place = draftPlace(chat);
    app.drafts.change(place, change(app.drafts.of(place).peek()));
    focusField();
  };
  const read = (uri: string, name: string) =>
    attempt(t("Reading…"), async (signal) => {
      const text = await (await app.connections()).read(server, uri, signal);
      add(({ files }) => ({ files: [...files, { name, text }] }));
      return t("{name} is added to the message.", { name });
    });
  const use = (name: string, given: Record<string, string>) =>
    attempt(t("Reading…"), async (signal) => {
      const text = await (await app.connections()).prompt(server, name, given, signal);
      add((draft) => ({ text: draft.text === "" ? text : `${draft.text}\n\n${text}` }));
      return t("{name} is in the message field.", { name });
    });
  return (
    <>
      <div class="links">
        <button type="button" class="link" onClick={() => void look()}>
          {offer.value === undefined ? t("Show resources and prompts") : t("Refresh")}
        </button>
        {busy.value !== undefined && (
          <button type="button" class="link" onClick={() => busy.peek()?.abort()}>
            {t("Stop asking {server}", { server: server.name })}
          </button>
        )}
      </div>
      <p class="hint" role="status">
        {said}
      </p>
      {signingIn.wanted.value !== undefined && <SigningIn {...signingIn.wanted.value} />}
      {offer.value !== undefined && offer.value.resources.length > 0 && (
        <Resources resources={offer.value.resources} read={(uri, name) => void read(uri, name)} />
      )}
      {offer.value !== undefined && offer.value.prompts.length > 0 && (
        <Prompts prompts={offer.value.prompts} use={(name, given) => void use(name, given)} />
      )}
    </>
  );
}

interface PromptsProps {
  prompts: ServerOffer["prompts"];
  use(name: string, given: Record<string, string>): void;
}

function Prompts({ prompts, use }: PromptsProps) {
  return (
    <details open>
      <summary>{t("Prompts")}</summary>
      <ul class="tools-of">
        {prompts.map((prompt) => (
          <Prompt key={prompt.name} prompt={prompt} use={(given) => use(prompt.name, given)} />
        ))}
      </ul>
    </details>
  );
}

interface ResourcesProps {
  resources: ServerOffer["resources"];
  read(uri: string, name: string): void;
}

function Resources({ resources, read }: ResourcesProps) {
  return (
    <details open>
      <summary>{t("Resources")}</summary>
      <ul class="tools-of">
        {resources.map(({ uri, name, description }) => (
          <li key={uri}>
            <span>{name}</span>
            <button
              type="button"
              class="link"
              aria-label={t("Add {name}", { name })}
              onClick={() => read(uri, name)}
            >
              {t("Add")}
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
        aria-label={t("Use {name}", { name })}
        disabled={lacks}
        onClick={() => use({ ...given.peek() })}
      >
        {t("Use")}
      </button>
      <small>{description}</small>
      {parameters.map((parameter) => (
        <input
          key={parameter.name}
          type="text"
          autocomplete="off"
          aria-label={t("{parameter} of {prompt}", { parameter: parameter.name, prompt: name })}
          placeholder={
            parameter.required ? parameter.name : t("{parameter} (optional)", { parameter: parameter.name })
          }
          value={given.value[parameter.name] ?? ""}
          onInput={(event) => {
            given.value = { ...given.peek(), [parameter.name]: event.currentTarget.value };
          }}
        />
      ))}
    </li>
  );
}
