// SPDX-License-Identifier: MIT

// The settings of the chat that is shown.
import { useComputed } from "@preact/signals";
import { useMemo } from "preact/hooks";
import { t, tn } from "../../language/language.ts";
import { defaultSettings } from "../../settings/settings.ts";
import { useApp } from "../appcontext.ts";
import { Lazy } from "../lazy.tsx";
import { FormatPart, LengthPart, LimitField, OtherPart, ReasoningPart } from "./answersettings.tsx";
import { ChainPart } from "./chainpart.tsx";
import { FoldingPart } from "./foldingpart.tsx";
import { ModelField, SystemField } from "./modelandsystem.tsx";
import { OtherPluginsPart } from "./otherplugins.tsx";
import { PresetsPart } from "./presetspart.tsx";
import { RequestPart } from "./requestpart.tsx";
import { Edit, EditProvider, useEdit } from "./settingsedit.ts";

const toolSettings = () => import("../tools/toolsettings.tsx");

/** The settings of the chat that is shown. Each change counts from the next answer on. */
export default function SettingsView() {
  const app = useApp();
  const chat = app.chats.current.value;
  const edit = useMemo(() => new Edit(app, chat), [app, chat]);
  const model = app.answering(chat.settings.value);
  return (
    <EditProvider value={edit} key={chat.id}>
      <div class="settings">
        <ModelField />
        <SystemField />
        <PresetsPart />
        <LimitField />
        <FormatPart />
        <ToolsPart />
        <OtherPluginsPart />
        <Advanced />
        <div class="settings-foot">
          <p class="hint">{t("Changes count from the next answer on, in this chat alone.")}</p>
          <button type="button" class="link" onClick={() => edit.keepAsDefault()}>
            {t("Use as default for new chats")}
          </button>
          {model !== "" && app.served.value.length > 1 && (
            <button type="button" class="link" onClick={() => edit.keepFor(model)}>
              {t("Use for new chats with {model}", { model })}
            </button>
          )}
          <button
            type="button"
            class="link"
            onClick={() => edit.replace(defaultSettings, t("All settings are back at the defaults."))}
          >
            {t("Back to defaults")}
          </button>
        </div>
      </div>
    </EditProvider>
  );
}

/** What the model may call. */
function ToolsPart() {
  const { app, chat } = useEdit();
  const count = useComputed(() => app.servers.offered(chat.settings.value).length).value;
  const now = count === 0 ? "" : tn(count, "{n} tool", "{n} tools");
  return (
    <FoldingPart title={t("Tools")} now={now} begin="closed">
      <Lazy load={toolSettings} />
    </FoldingPart>
  );
}

/** What most chats never need. */
function Advanced() {
  return (
    <FoldingPart title={t("Advanced")} now={t("sampler chain, end, reasoning, request")} begin="closed">
      <ChainPart />
      <LengthPart />
      <ReasoningPart />
      <OtherPart />
      <RequestPart />
    </FoldingPart>
  );
}
