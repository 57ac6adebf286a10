// SPDX-License-Identifier: MIT

// The tools of a chat in its settings: MCP servers, and functions whose calls a person answers.
import "../../style/toolparts.css";
import { type Signal, useComputed, useSignal } from "@preact/signals";
import { useId } from "preact/hooks";
import { t, tn } from "../../language/language.ts";
import { type FunctionTool, mostInSettings } from "../../settings/settings.ts";
import { ClientNeeded } from "../../tools/signin.ts";
import { cleanTools, type ToolServer } from "../../tools/toolservers.ts";
import type { Address } from "../../tools/workerprotocol.ts";
import { type Edit, useEdit, useSetting } from "../settings/settingsedit.ts";
import { UseSwitch } from "../useswitch.tsx";
import { FunctionForm } from "./functionform.tsx";
import { ServerOffers } from "./serveroffers.tsx";
import { SigningIn, useSigningIn } from "./signingin.tsx";

/** The tools that the model may call in this chat. */
export default function ToolSettings() {
  const { app } = useEdit();
  const knows = useComputed(() => app.props.value.template.supports_tools !== false).value;
  return (
    <>
      {!knows && (
        <p class="hint">{t("The chat template of this model knows no tools: it is not told of them.")}</p>
      )}
      <Servers />
      <Functions />
    </>
  );
}

/** Switches a server on or off in the chat. */
function turnServer(edit: Edit, url: string, on: boolean): void {
  edit.change(({ servers = [], ...settings }) => {
    const others = servers.filter((other) => other !== url);
    const used = on ? [...others, url] : others;
    return used.length > 0 ? { ...settings, servers: used } : settings;
  });
}

function Servers() {
  const { app } = useEdit();
  return (
    <section>
      <h4>{t("MCP servers")}</h4>
      <p class="hint">{t("Their tools answer what the model calls. You are asked before each runs.")}</p>
      <ul class="tool-list" aria-label={t("MCP servers")}>
        {app.servers.list.value.map((server) => (
          <Server key={server.url} server={server} />
        ))}
      </ul>
      <AddServer />
    </section>
  );
}

function Server({ server }: { server: ToolServer }) {
  const edit = useEdit();
  const { servers } = edit.app;
  const { url, name, tools, signedIn } = server;
  const used = useSetting((settings) => settings.servers?.includes(url) === true);
  const forget = () => void edit.app.connections().then((connections) => connections.forget(server));
  const count = tn(tools.length, "{n} tool", "{n} tools");
  return (
    <li>
      <UseSwitch label={name} help={`${url} · ${count}`} on={used} turn={(on) => turnServer(edit, url, on)} />
      {tools.length > 0 && (
        <details>
          <summary>{t("Its tools")}</summary>
          <ul class="tools-of">
            {tools.map(({ name, description }) => (
              <ServerTool key={name} server={server} name={name} description={description} />
            ))}
          </ul>
        </details>
      )}
      <ServerOffers server={server} />
      <div class="links">
        <button
          type="button"
          class="link"
          onClick={() => {
            turnServer(edit, url, false);
            forget();
            servers.remove(url);
          }}
        >
          {t("Remove {name}", { name })}
        </button>
        {signedIn?.tokens !== undefined && (
          <button
            type="button"
            class="link"
            onClick={() => {
              forget();
              servers.change(url, ({ signedIn: _, ...kept }) => kept);
            }}
          >
            {t("Sign out of {server}", { server: name })}
          </button>
        )}
      </div>
    </li>
  );
}

/** One tool of a server: whether the model is told of it, and whether it runs unasked. */
function ServerTool({
  server,
  name,
  description,
}: {
  server: ToolServer;
  name: string;
  description: string;
}) {
  const { servers } = useEdit().app;
  const id = useId();
  const change = (field: "off" | "always", on: boolean) =>
    servers.change(server.url, (kept) => {
      const others = kept[field].filter((other) => other !== name);
      return { ...kept, [field]: on ? [...others, name] : others };
    });
  const unasked = server.always.includes(name);
  return (
    <li>
      <label for={id}>
        <code>{name}</code>
      </label>
      <input
        id={id}
        type="checkbox"
        role="switch"
        class="switch"
        checked={!server.off.includes(name)}
        aria-checked={!server.off.includes(name)}
        onChange={(event) => change("off", !event.currentTarget.checked)}
      />
      <small>{description}</small>
      {unasked && (
        <small>
          {t("It runs without a question.")}{" "}
          <button type="button" class="link" onClick={() => change("always", false)}>
            {t("Ask before {name} runs", { name })}
          </button>
        </small>
      )}
    </li>
  );
}

function AddServer() {
  const edit = useEdit();
  const { app } = edit;
  const id = useId();
  const address = useSignal("");
  const token = useSignal("");
  const client = useSignal<string | undefined>(undefined); // where the page cannot register itself
  const signingIn = useSigningIn();
  const state = useSignal<{ busy?: AbortController; problem: string }>({ problem: "" });
  const add = async () => {
    const url = addressOf(address.peek());
    if (url === undefined) {
      state.value = { problem: t("The address must begin with http:// or https://.") };
      return;
    }
    const busy = new AbortController();
    state.value = { busy, problem: "" };
    const typed = client.peek()?.trim();
    const at: Address = { url, token: token.peek().trim() };
    if (typed) at.signedIn = { client: { client_id: typed }, at: Date.now() };
    try {
      await signingIn.through(at, busy.signal, async (at) => {
        const { name, tools } = await (await app.connections()).look(at, busy.signal);
        const before = app.servers.list.peek().find((server) => server.url === url);
        const signedIn = at.signedIn ?? (at.token === "" ? before?.signedIn : undefined);
        const now = { ...at, signedIn, name, tools: cleanTools(tools), off: [], always: [] };
        const added = app.servers.put(now);
        if (!added)
          throw new Error(
            t("this browser keeps {n} servers: remove one first", { n: mostInSettings.servers }),
          );
      });
      turnServer(edit, url, true);
      address.value = "";
      token.value = "";
      client.value = undefined;
      state.value = { problem: "" };
    } catch (error) {
      if (error instanceof ClientNeeded) client.value ??= "";
      const said = error instanceof Error ? error.message : String(error);
      state.value = { problem: t("The server was not added: {problem}.", { problem: said }) };
    }
  };
  return (
    <form
      class="function-form"
      onSubmit={(event) => {
        event.preventDefault();
        if (state.peek().busy === undefined) void add();
      }}
    >
      <LineField
        id={`${id}-address`}
        label={t("Address")}
        value={address}
        inputMode="url"
        placeholder="http://localhost:3001/mcp" // untranslated: an address
        aria-describedby={`${id}-problem`}
      />
      <LineField id={`${id}-token`} label={t("Token, if it wants one")} value={token} />
      {client.value !== undefined && <LineField id={`${id}-client`} label={t("Client ID")} value={client} />}
      <Connect busy={state.value.busy} />
      {signingIn.wanted.value !== undefined && <SigningIn {...signingIn.wanted.value} />}
      <p id={`${id}-problem`} class="wrong" role="alert">
        {state.value.problem}
      </p>
    </form>
  );
}

interface LineFieldProps {
  id: string;
  label: string;
  value: Signal<string> | Signal<string | undefined>;
  inputMode?: "url";
  placeholder?: string;
  "aria-describedby"?: string;
}

/** A line that is taken as it is typed. */
function LineField({ label, value, ...more }: LineFieldProps) {
  return (
    <label for={more.id}>
      {label}
      <input
        {...more}
        type="text"
        autocomplete="off"
        spellcheck={false}
        value={value.value ?? ""}
        onInput={(event) => {
          value.value = event.currentTarget.value;
        }}
      />
    </label>
  );
}

/** Adds the server, or stops connecting to it. */
function Connect({ busy }: { busy: AbortController | undefined }) {
  return (
    <div class="links">
      <button type="submit" class="small-primary" disabled={busy !== undefined}>
        {busy === undefined ? t("Add server") : t("Connecting…")}
      </button>
      {busy !== undefined && (
        <button type="button" class="link" onClick={() => busy.abort()}>
          {t("Stop connecting")}
        </button>
      )}
    </div>
  );
}

/** The address of a server as it is kept; undefined where it is none. */
function addressOf(typed: string): string | undefined {
  try {
    const url = new URL(typed.trim());
    return url.protocol === "http:" || url.protocol === "https:" ? url.href : undefined;
  } catch {
    return undefined;
  }
}

function Functions() {
  const edit = useEdit();
  const tools = useSetting((settings) => settings.tools) ?? [];
  const editing = useSignal<string | undefined>(undefined); // the name of a function; "": of none yet
  const keep = (list: readonly FunctionTool[]) =>
    edit.change(({ tools: _, ...settings }) =>
      list.length > 0 ? { ...settings, tools: [...list] } : settings,
    );
  const put = (written: readonly FunctionTool[]) => {
    const names = new Set([editing.peek(), ...written.map(({ name }) => name)]);
    keep([...tools.filter(({ name }) => !names.has(name)), ...written]);
    editing.value = undefined;
  };
  const turn = (tool: FunctionTool, on: boolean) => {
    const { off: _, ...rest } = tool;
    keep(tools.map((other) => (other === tool ? (on ? rest : { ...rest, off: true }) : other)));
  };
  return (
    <section>
      <h4>{t("Functions")}</h4>
      <p class="hint">{t("You answer what the model calls, below its answer.")}</p>
      <ul class="tool-list" aria-label={t("Functions")}>
        {tools.map((tool) => (
          <li key={tool.name}>
            {editing.value === tool.name ? (
              <FunctionForm tool={tool} put={put} close={() => (editing.value = undefined)} />
            ) : (
              <>
                <UseSwitch
                  label={tool.name}
                  help={tool.description}
                  on={!tool.off}
                  turn={(on) => turn(tool, on)}
                />
                <div class="links">
                  <button type="button" class="link" onClick={() => (editing.value = tool.name)}>
                    {t("Edit {name}", { name: tool.name })}
                  </button>
                  <button
                    type="button"
                    class="link"
                    onClick={() => keep(tools.filter((other) => other !== tool))}
                  >
                    {t("Remove {name}", { name: tool.name })}
                  </button>
                </div>
              </>
            )}
          </li>
        ))}
      </ul>
      {editing.value === "" ? (
        <FunctionForm put={put} close={() => (editing.value = undefined)} />
      ) : (
        <button type="button" class="link" onClick={() => (editing.value = "")}>
          {t("Add a function")}
        </button>
      )}
    </section>
  );
}
