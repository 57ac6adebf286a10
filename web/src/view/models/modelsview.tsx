// SPDX-License-Identifier: MIT

// The models view: what is loaded, and how large each model is.
import "../../style/models.css";
import { useSignal } from "@preact/signals";
import { useEffect, useMemo } from "preact/hooks";
import { NoKey } from "../../host/adminaccess.ts";
import type { Model } from "../../host/rest.ts";
import { t } from "../../language/language.ts";
import { AdminDialog, adminAccess } from "../adminkeydialog.tsx";
import { useApp } from "../appcontext.ts";
import { fits } from "../finder/finder.tsx";
import { Icon } from "../icon.tsx";
import { failureOf, sizesOf, states, wordsOf } from "./modelwords.ts";
import { PullModel } from "./pullmodel.tsx";
import { RemoveModel } from "./removemodel.tsx";

const lookEvery = 2000; // milliseconds

const many = 6; // models, from which on they can be searched

type Act = "load" | "unload" | "remove";

/** The models of the server: what is loaded, and how large each is. */
export default function ModelsView() {
  const app = useApp();
  const problem = useSignal("");
  const busy = useSignal<ReadonlySet<string>>(new Set());
  const admin = useMemo(adminAccess, []);
  useLook(problem);
  const change = async (act: Act, model: string) => {
    problem.value = "";
    if (act !== "remove") busy.value = new Set(busy.peek()).add(model);
    try {
      await admin.act((key) =>
        app.rest.call(act === "remove" ? "api/delete" : `models/${act}`, {
          method: act === "remove" ? "DELETE" : "POST",
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
  const query = useSignal("");
  const { value: all } = app.served;
  const models = all.filter((model) => fits(`${model.name} ${sizesOf(model)}`, query.value.trim()));
  return (
    <main id="scroller" class="models">
      <p class="hint">
        {t(
          "A question loads the model that it asks. Load one here to have it ready, or unload it to make room for others.",
        )}
      </p>
      {problem.value !== "" && (
        <p class="problem" role="alert">
          <strong>{problem.value}</strong>
        </p>
      )}
      {all.length >= many && (
        <input
          type="search"
          class="model-search"
          aria-label={t("Search models")}
          placeholder={t("Search models")}
          value={query}
          onInput={(event) => {
            query.value = event.currentTarget.value;
          }}
        />
      )}
      <p class="hint" role="status">
        {all.length > 0 && models.length === 0 && t("No model has these words.")}
      </p>
      <ul class="model-list" aria-label={t("Models")}>
        {models.map((model) => (
          <Entry key={model.name} model={model} busy={busy.value.has(model.name)} change={change} />
        ))}
      </ul>
      <PullModel admin={admin} />
      <AdminDialog admin={admin} purpose={t("To change the models")} />
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

function Entry({ model, busy, change }: EntryProps) {
  const app = useApp();
  const { name, state } = model;
  const several = app.served.value.length > 1;
  const act: Act = state === "loaded" ? "unload" : "load";
  const failed = failureOf(model);
  const chat = () => {
    app.chooseModel(app.chats.begin(), name);
    app.view.value = "chat";
  };
  return (
    <li>
      <h2>{name}</h2>
      <p class="state" data-state={state}>
        {busy && act === "load" ? states.loading : states[state]}
      </p>
      <p class="hint">{sizesOf(model)}</p>
      {failed !== "" && <p class="wrong">{failed}</p>}
      {several && <OwnSettings name={name} />}
      <p class="does">
        <button type="button" class="quiet" aria-label={t("Chat with {name}", { name })} onClick={chat}>
          {t("Chat")}
        </button>
        {several && (
          <button
            type="button"
            class="quiet"
            aria-label={act === "load" ? t("Load {name}", { name }) : t("Unload {name}", { name })}
            disabled={busy || state === "loading"}
            onClick={() => void change(act, name)}
          >
            {act === "load" ? t("Load") : t("Unload")}
          </button>
        )}
        {several && <Default name={name} />}
        {several && !model.builtIn && <RemoveModel name={name} remove={() => void change("remove", name)} />}
      </p>
    </li>
  );
}

/** Has all new chats begin with a model, whatever was chosen last. */
function Default({ name }: { name: string }) {
  const { starting } = useApp();
  const pressed = starting.model.value === name;
  return (
    <button
      type="button"
      class="quiet"
      aria-label={t("Default: {name}", { name })}
      aria-pressed={pressed}
      title={t("Begin new chats with it, whatever was chosen last")}
      onClick={() => starting.begin(pressed ? undefined : name)}
    >
      {pressed && <Icon name="check" />}
      {t("Default")}
    </button>
  );
}

/** That new chats with a model begin with settings of their own, and the way back. */
function OwnSettings({ name }: { name: string }) {
  const { starting } = useApp();
  if (starting.of(name) === undefined) return null;
  return (
    <p class="hint">
      {t("New chats with it begin with your settings for it.")}{" "}
      <button
        type="button"
        class="link"
        aria-label={t("Forget them: {name}", { name })}
        onClick={() => starting.keepOf(name, undefined)}
      >
        {t("Forget them")}
      </button>
    </p>
  );
}
