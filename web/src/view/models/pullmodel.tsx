// SPDX-License-Identifier: MIT

// Pulls models from the hub, and shows how far they are.
import { useSignal } from "@preact/signals";
import { useId } from "preact/hooks";
import type { App } from "../../app.ts";
import { type AdminAccess, NoKey } from "../../host/adminaccess.ts";
import { ModelPulls, type Pull } from "../../host/modelpulls.ts";
import { t } from "../../language/language.ts";
import { sentence, withoutPaths } from "../../text/sentence.ts";
import { useApp } from "../appcontext.ts";
import { bytes, wordsOf } from "./modelwords.ts";

let pulls: ModelPulls | undefined; // they go on while other views are shown

function pullsOf(app: App): ModelPulls {
  pulls ??= new ModelPulls(app.rest);
  return pulls;
}

/** The field for a model's name at the hub, and the models that are on their way. */
export function PullModel({ admin }: { admin: AdminAccess }) {
  const app = useApp();
  const id = useId();
  const name = useSignal("");
  const problem = useSignal("");
  const pull = async (wanted: string) => {
    problem.value = "";
    try {
      const ended = await admin.act((key) => pullsOf(app).pull(wanted, key));
      if (name.peek().trim() === wanted && ended?.phase === "done") name.value = "";
      await app.refreshModels();
      if (ended?.phase === "done" && app.view.peek() !== "models")
        app.notice.value = t("{name} is there now.", { name: ended.model || wanted });
    } catch (error) {
      if (!(error instanceof NoKey)) problem.value = wordsOf(error);
    }
  };
  return (
    <section class="pull-model" aria-labelledby={id}>
      <h2 id={id}>{t("Pull a model")}</h2>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          if (name.peek().trim() !== "") void pull(name.peek().trim());
        }}
      >
        <input
          type="text"
          aria-label={t("Name of the model at the hub")}
          aria-describedby={`${id}-help`}
          placeholder={t("OWNER/NAME or OWNER/NAME:Q4_K_M")}
          autocomplete="off"
          autocapitalize="off"
          spellcheck={false}
          maxLength={400}
          value={name}
          onInput={(event) => {
            name.value = event.currentTarget.value;
          }}
        />
        <button type="submit" class="small-primary">
          {t("Pull")}
        </button>
      </form>
      <p id={`${id}-help`} class="hint">
        {t(
          "The server downloads it from its hub (Hugging Face, unless it is configured otherwise) into its model folder. That needs the admin key.",
        )}
      </p>
      <p class="wrong" role="alert">
        {problem}
      </p>
      <ul class="pulls" aria-label={t("Models that are pulled")}>
        {pullsOf(app).list.value.map((one) => (
          <OnItsWay key={one.name} pull={one} again={() => void pull(one.name)} />
        ))}
      </ul>
    </section>
  );
}

/** One model that is pulled, or how that ended. */
function OnItsWay({ pull, again }: { pull: Pull; again(): void }) {
  const app = useApp();
  const { name, phase, done, total } = pull;
  const running = phase === "running";
  return (
    <li>
      <p>
        <strong>{name}</strong>
      </p>
      {running && (
        <progress
          max={total || 1}
          {...(total > 0 && { value: done })}
          aria-label={t("{name} is pulled", { name })}
        />
      )}
      <p class={phase === "failed" ? "wrong" : "hint"} role={running ? undefined : "status"}>
        {stateOf(app, pull)}
      </p>
      <p class="does">
        {running && (
          <button
            type="button"
            class="quiet"
            aria-label={t("Stop pulling {name}", { name })}
            onClick={() => pullsOf(app).stop(name)}
          >
            {t("Stop")}
          </button>
        )}
        {(phase === "failed" || phase === "stopped") && (
          <button type="button" class="quiet" aria-label={t("Pull again: {name}", { name })} onClick={again}>
            {t("Pull again")}
          </button>
        )}
        {!running && (
          <button
            type="button"
            class="quiet"
            aria-label={t("Dismiss {name}", { name })}
            onClick={() => pullsOf(app).dismiss(name)}
          >
            {t("Dismiss")}
          </button>
        )}
      </p>
    </li>
  );
}

function stateOf(app: App, { phase, text, done, total, model }: Pull): string {
  if (phase === "failed") return withoutPaths(sentence(text));
  if (phase === "stopped") return t("Stopped. Pull it again, and it goes on where it stopped.");
  if (phase === "done") {
    if (model === "") return t("The server has this model already.");
    if (app.models.value.includes(model)) return t("{name} is there now.", { name: model });
    return t(
      "{name} is in the model folder now. This server offers only the models that it was started with: start it with --models-dir to choose among those of a folder.",
      { name: model },
    );
  }
  const parts = { done: bytes(done), total: bytes(total), n: Math.floor((100 * done) / total) };
  const far = total > 0 ? t("{done} of {total} ({n} %)", parts) : "";
  const what = text.startsWith("pulling") || text === "" ? far || t("Asking the hub…") : sentence(text);
  return withoutPaths(what);
}
