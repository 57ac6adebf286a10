// SPDX-License-Identifier: MIT

// The choice of the page's language.
import { choose, chosenLanguage, type Language, languages, t } from "../../language/language.ts";

/** The language of the page: the browser's, or one that is chosen. */
export function LanguageChoice() {
  return (
    <select
      class="language"
      aria-label={t("Language")}
      value={chosenLanguage() ?? ""}
      onChange={({ currentTarget }) => choose((currentTarget.value || undefined) as Language | undefined)}
    >
      <option value="">{t("Automatic")}</option>
      {Object.entries(languages).map(([tag, name]) => (
        <option key={tag} value={tag} lang={tag}>
          {name}
        </option>
      ))}
    </select>
  );
}
