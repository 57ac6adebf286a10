// SPDX-License-Identifier: MIT
import { useMemo } from "preact/hooks";
import { useApp } from "../../app.ts";
import { defaults } from "../../settings/settings.ts";
import { FormatPart, LengthPart, OtherPart, ReasoningPart } from "./answer.tsx";
import { BesidePart } from "./beside.tsx";
import { ChainPart } from "./chain.tsx";
import { Edit, EditProvider } from "./edit.ts";
import { ModelField, SystemField } from "./general.tsx";
import { PresetsPart } from "./presets.tsx";
import { RequestPart } from "./request.tsx";

/** The settings of the chat that is shown. Each change counts from the next answer on. */
export default function SettingsView() {
  const app = useApp();
  const chat = app.chats.current.value;
  const edit = useMemo(() => new Edit(app, chat), [app, chat]);
  return (
    <EditProvider value={edit} key={chat.id}>
      <div class="settings">
        <PresetsPart />
        <ModelField />
        <SystemField />
        <ChainPart />
        <BesidePart />
        <LengthPart />
        <FormatPart />
        <ReasoningPart />
        <OtherPart />
        <RequestPart />
        <div class="settings-foot">
          <p class="hint">Changes count from the next answer on, and new chats begin with them.</p>
          <button
            type="button"
            class="link"
            onClick={() => edit.replace(defaults, "All settings are back at the defaults.")}
          >
            Back to defaults
          </button>
        </div>
      </div>
    </EditProvider>
  );
}
