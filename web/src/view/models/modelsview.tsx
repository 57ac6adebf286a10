// SPDX-License-Identifier: MIT

// The models view: what is loaded, and how large each model is.
import "../../style/models.css";
import { useSignal } from "@preact/signals";
import { useEffect, useMemo } from "preact/hooks";
import { NoKey } from "../../host/adminaccess.ts";
import type { Model } from "../../host/rest.ts";
import { count, parameterWords } from "../../text/numberformat.ts";
import { sentence, withoutPaths } from "../../text/sentence.ts";
import { AdminDialog, adminAccess } from "../adminkeydialog.tsx";
import { useApp } from "../appcontext.ts";

const lookEvery = 2000; // milliseconds

type Act = "load" | "unload";

/** The models of the server: what is loaded, and how large each is. */
export default function ModelsView() {
  const app = useApp();
  const problem = useSignal("");
  const busy = useSignal<ReadonlySet<string>>(new Set());
  const admin = useMemo(adminAccess, []);
  useLook(problem);
  const change = async (act: Act, model: string) => {
    problem.value = "";
    busy.value = new Set(busy.peek()).add(model);
    try {
      await admin.act((key) =>
        app.rest.call(`models/${act}`, {
          method: "POST",
          body: { model },
          key,
          signal: new AbortController().signal, // loading takes as long as it takes
        }),
      );
    } catch (error) {
      if (!(error instanceof NoKey)) problem.value = wordsOf(error);
    }
    const left = new Set(busy.peek());
    left.delete(model);
    busy.value = left;
    await app.refreshModels().catch(() => {});
  };
  const { value: models } = app.served;
  return (
    <main id="scroller" class="models">
      <p class="hint">
        A question loads the model that it asks. Load one here to have it ready, or unload it to make room for
        others.
      </p>
      {problem.value !== "" && (
        <p class="problem" role="alert">
          <strong>{problem.value}</strong>
        </p>
      )}
      <ul class="model-list" aria-label="Models">
        {models.map((model) => (
          <Entry key={model.name} model={model} busy={busy.value.has(model.name)} change={change} />
        ))}
      </ul>
      <AdminDialog admin={admin} purpose="To load and unload the models" />
    </main>
  );
}

/** Asks for the list again and again while the page can be seen. */
function useLook(problem: { value: string }): void {
  const app = useApp();
  useEffect(() => {
    const look = () => {
      if (document.visibilityState !== "visible") return;
      app.refreshModels().catch((error) => {
        problem.value = wordsOf(error);
      });
    };
    look();
    const clock = setInterval(look, lookEvery);
    return () => clearInterval(clock);
  }, [app, problem]);
}

interface EntryProps {
  model: Model;
  busy: boolean;
  change(act: Act, model: string): Promise<void>;
}

const states = { loaded: "Loaded", loading: "Loading…", unloaded: "Not loaded" } as const;

function Entry({ model, busy, change }: EntryProps) {
  const app = useApp();
  const { name, state, failed } = model;
  const act: Act = state === "loaded" ? "unload" : "load";
  const chat = () => {
    const { settings } = app.chats.begin();
    settings.value = { ...settings.peek(), model: name };
    app.view.value = "chat";
  };
  return (
    <li>
      <h2>{name}</h2>
      <p class="state" data-state={state}>
        {busy && act === "load" ? states.loading : states[state]}
      </p>
      <p class="hint">{sizes(model)}</p>
      {failed !== "" && <p class="wrong">{withoutPaths(sentence(failed))}</p>}
      <p class="does">
        <button type="button" class="quiet" onClick={chat}>
          Chat<span class="hidden"> with {name}</span>
        </button>
        {app.served.value.length > 1 && (
          <button
            type="button"
            class="quiet"
            disabled={busy || state === "loading"}
            onClick={() => void change(act, name)}
          >
            {act === "load" ? "Load" : "Unload"}
            <span class="hidden"> {name}</span>
          </button>
        )}
      </p>
    </li>
  );
}

function sizes({ size, parameters, context }: Model): string {
  const words = [
    parameters > 0 ? `${parameterWords(parameters)} parameters` : "",
    size > 0 ? bytes(size) : "",
    context === undefined ? "" : `context of ${count(context)} tokens`,
  ];
  return words.filter((word) => word !== "").join(" · ");
}

function bytes(n: number): string {
  return n >= 1e9 ? `${(n / 1e9).toFixed(1)} GB` : `${Math.max(1, Math.round(n / 1e6))} MB`;
}

function wordsOf(error: unknown): string {
  return withoutPaths(sentence(error instanceof Error ? error.message : String(error)));
}
