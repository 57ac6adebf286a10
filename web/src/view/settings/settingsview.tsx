// SPDX-License-Identifier: MIT

// The settings of the chat that is shown.
import { useMemo } from "preact/hooks";
import { defaultSettings } from "../../settings/settings.ts";
import { useApp } from "../appcontext.ts";
import { FormatPart, LengthPart, LimitField, OtherPart, ReasoningPart } from "./answersettings.tsx";
import { ChainPart } from "./chainpart.tsx";
import { FoldingPart } from "./foldingpart.tsx";
import { ModelField, SystemField } from "./modelandsystem.tsx";
import { OtherPluginsPart } from "./otherplugins.tsx";
import { PresetsPart } from "./presetspart.tsx";
import { RequestPart } from "./requestpart.tsx";
import { Edit, EditProvider } from "./settingsedit.ts";

/** The settings of the chat that is shown. Each change counts from the next answer on. */
export default function SettingsView() {
  const app = useApp();
  const chat = app.chats.current.value;
  const edit = useMemo(() => new Edit(app, chat), [app, chat]);
  return (
    <EditProvider value={edit} key={chat.id}>
      <div class="settings">
        <ModelField />
        <SystemField />
        <PresetsPart />
        <LimitField />
        <FormatPart />
        <OtherPluginsPart />
        <Advanced />
        <div class="settings-foot">
          <p class="hint">Changes count from the next answer on, in this chat alone.</p>
          <button type="button" class="link" onClick={() => edit.keepAsDefault()}>
            Use as default for new chats
          </button>
          <button
            type="button"
            class="link"
            onClick={() => edit.replace(defaultSettings, "All settings are back at the defaults.")}
          >
            Back to defaults
          </button>
        </div>
      </div>
    </EditProvider>
  );
}

/** What most chats never need. */
function Advanced() {
  return (
    <FoldingPart title="Advanced" now="sampler chain, end, reasoning, request" begin="closed">
      <ChainPart />
      <LengthPart />
      <ReasoningPart />
      <OtherPart />
      <RequestPart />
    </FoldingPart>
  );
}
