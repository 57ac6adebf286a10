// SPDX-License-Identifier: MIT

// The choice of light, dark or the system's colours.
import { t } from "../../language/language.ts";
import { type Theme, themes } from "../../settings/preferences.ts";
import { useApp } from "../appcontext.ts";
import { Icon } from "../icon.tsx";

const shown = {
  system: { name: t("As the system"), icon: "screen" },
  light: { name: t("Light"), icon: "sun" },
  dark: { name: t("Dark"), icon: "moon" },
} as const satisfies Record<Theme, unknown>;

/** Light, dark, or as the system has it. */
export function ThemeChoice() {
  const { theme } = useApp().layout.preferences;
  return (
    <fieldset class="themes">
      <legend class="hidden">{t("Colours")}</legend>
      {themes.map((name) => (
        <label key={name} title={shown[name].name}>
          <input
            type="radio"
            name="theme"
            aria-label={shown[name].name}
            checked={theme.value === name}
            onChange={() => {
              theme.value = name;
            }}
          />
          <Icon name={shown[name].icon} />
        </label>
      ))}
    </fieldset>
  );
}
