// SPDX-License-Identifier: MIT

// The choice of a preset.
import { useComputed, useSignal } from "@preact/signals";
import { t } from "../../language/language.ts";
import { builtIn, presetOf, withBuiltIn } from "../../settings/presets.ts";
import { NumberField } from "./numberfield.tsx";
import { OwnPresets, presets } from "./ownpresets.tsx";
import { useEdit } from "./settingsedit.ts";

/** Settings under a name: built-in ones, and one's own. */
export function PresetsPart() {
  const edit = useEdit();
  const { settings } = edit.chat;
  const now = useComputed(() => presetOf(settings.value, presets.list.value));
  const last = useSignal(""); // one's own that was chosen last, even if it was changed since
  const said = useSignal("");
  const own = presets.list.value;
  return (
    <section class="presets" aria-label={t("Creativity")}>
      <h3>{t("Creativity")}</h3>
      <fieldset class="pills">
        <legend class="hidden">{t("Preset")}</legend>
        {builtIn.map((preset) => (
          <Pill
            key={preset.name}
            name={preset.title}
            title={preset.help}
            pressed={now.value === preset.name}
            choose={() => edit.replace(withBuiltIn(settings.peek(), preset), setWords(preset.title))}
          />
        ))}
        {own.map((preset) => (
          <Pill
            key={preset.name}
            name={preset.name}
            title={t("Your preset")}
            pressed={now.value === preset.name}
            choose={() => {
              last.value = preset.name;
              edit.replace(preset.settings, setWords(preset.name));
            }}
          />
        ))}
      </fieldset>
      <p class="hint">{hint(now.value)}</p>
      <NumberField name="temperature" />
      <OwnPresets
        now={own.some(({ name }) => name === now.value) ? now.value : undefined}
        last={last.value}
        said={said}
      />
      <p class="said" role="status">
        {said}
      </p>
    </section>
  );
}

function setWords(name: string): string {
  return t("Preset “{name}” is set.", { name });
}

function hint(now: string | undefined): string {
  if (now === undefined) return t("Your own mixture. Save it under a name to use it in other chats.");
  return builtIn.find(({ name }) => name === now)?.help ?? t("Your preset, as it was saved.");
}

interface PillProps {
  name: string;
  title: string;
  pressed: boolean;
  choose(): void;
}

function Pill({ name, title, pressed, choose }: PillProps) {
  return (
    <button type="button" class="pill" title={title} aria-pressed={pressed} onClick={choose}>
      {name}
    </button>
  );
}
