// SPDX-License-Identifier: MIT

// The model of a chat, and its system prompt.
import { useId } from "preact/hooks";
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
  const own = usual === undefined ? "The server's own" : `The server's own: ${usual}`;
  if (models.length < 2 && !gone && model === undefined) return null; // the head of the page names it
  return (
    <div class="setting stacked" data-set={model !== undefined}>
      <label for={id}>Model</label>
      <ModelButton
        id={id}
        class="opens-list"
        label={`Model: ${model ?? own}`}
        describedBy={`${id}-help`}
        {...(model !== undefined && { chosen: model })}
        none={own}
        choose={choose}
      >
        {model ?? own}
        {gone && " (not on this server)"}
      </ModelButton>
      <small id={`${id}-help`} class={gone ? "wrong" : ""}>
        {gone &&
          `This server does not have ${model}${models.length > 1 ? ". Choose another." : `; ${usual} answers in its place.`}`}
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
      <label for={id}>Instructions</label>
      <textarea
        id={id}
        rows={3}
        placeholder="What the model should know or obey in this chat"
        aria-describedby={`${id}-help`}
        value={system}
        onInput={(event) => {
          const text = event.currentTarget.value;
          edit.change((settings) => ({ ...settings, system: text }));
        }}
      />
      <small id={`${id}-help`}>
        The system prompt: it stands before the chat.{" "}
        {ignored && "The template of this model knows no system prompts; it may refuse this one."}
      </small>
    </div>
  );
}
