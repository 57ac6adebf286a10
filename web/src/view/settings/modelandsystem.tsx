// SPDX-License-Identifier: MIT

// The model of a chat, and its system prompt.
import { useId } from "preact/hooks";
import { t } from "../../language/language.ts";
import { ModelButton } from "../models/modelbutton.tsx";
import { useEdit, useSetting } from "./settingsedit.ts";

/** Which model answers. One that is gone stays chosen, and the page says so. */
export function ModelField() {
  const edit = useEdit();
  const id = useId();
  const models = edit.app.models.value;
  const model = useSetting((settings) => settings.model);
  const gone = model !== undefined && models.length > 0 && !models.includes(model);
  const choose = (name: string) =>
    edit.change(({ model: _, ...settings }) => (name === "" ? settings : { ...settings, model: name }));
  const usual = models[0];
  const own = usual === undefined ? t("The server's own") : t("The server's own: {model}", { model: usual });
  if (models.length < 2 && !gone && model === undefined) return null; // the head of the page names it
  return (
    <div class="setting stacked" data-set={model !== undefined}>
      <label for={id}>{t("Model")}</label>
      <ModelButton
        id={id}
        class="opens-list"
        label={t("Model: {model}", { model: model ?? own })}
        describedBy={`${id}-help`}
        {...(model !== undefined && { chosen: model })}
        none={own}
        choose={choose}
      >
        {gone ? t("{model} (not on this server)", { model }) : (model ?? own)}
      </ModelButton>
      <small id={`${id}-help`} class={gone ? "wrong" : ""}>
        {gone &&
          (usual === undefined || models.length > 1
            ? t("This server does not have {model}. Choose another.", { model })
            : t("This server does not have {model}; {other} answers in its place.", { model, other: usual }))}
      </small>
    </div>
  );
}

/** What the model is told before the chat. */
export function SystemField() {
  const edit = useEdit();
  const id = useId();
  const system = useSetting((settings) => settings.system);
  const ignored = edit.app.props.value.template.supports_system_role === false && system.trim() !== "";
  return (
    <div class="setting stacked" data-set={system !== ""}>
      <label for={id}>{t("Instructions")}</label>
      <textarea
        id={id}
        rows={3}
        placeholder={t("What the model should know or obey in this chat")}
        aria-describedby={`${id}-help`}
        value={system}
        onInput={(event) => {
          const text = event.currentTarget.value;
          edit.change((settings) => ({ ...settings, system: text }));
        }}
      />
      <small id={`${id}-help`}>
        {t("The system prompt: it stands before the chat.")}{" "}
        {ignored && t("The template of this model knows no system prompts; it may refuse this one.")}
      </small>
    </div>
  );
}
