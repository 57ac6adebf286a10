// SPDX-License-Identifier: MIT

// The legend of the token colours, and the choice of what they mean.
import { t } from "../../language/language.ts";
import { count } from "../../text/numberformat.ts";
import type { ColourMode, Palette } from "../../trace/tokencolours.ts";
import type { TokenItem } from "../../trace/tokenitems.ts";
import { stageName } from "../../trace/tokenwords.ts";

const modes: Record<ColourMode, string> = {
  probability: t("Probability"),
  stage: t("Stage"),
  plugin: t("Plugin"),
};

const meanings: Record<ColourMode, string> = {
  probability: t("How likely the model found each token."),
  stage: t("The stage that decided against the model’s first choice. Plain tokens are that first choice."),
  plugin: t("Who chose, changed or took back tokens. In plain ones no plugin had a hand."),
};

const sample = "a"; // a letter in a colour

/** What colours tell. */
export function ColourModes({ mode, pick }: { mode: ColourMode; pick(mode: ColourMode): void }) {
  return (
    <fieldset class="modes">
      <legend>{t("Colour by")}</legend>
      {(Object.keys(modes) as ColourMode[]).map((one) => (
        <label key={one}>
          <input type="radio" name="token-colour" checked={one === mode} onChange={() => pick(one)} />
          <span>{modes[one]}</span>
        </label>
      ))}
    </fieldset>
  );
}

/** The colours that occur, with how many tokens have each. */
export function Legend({ palette, items }: { palette: Palette; items: readonly TokenItem[] }) {
  for (const item of items) palette.shade(item); // also those that are not drawn yet
  return (
    <ul class="legend" aria-label={t("Legend")} title={meanings[palette.mode]}>
      {palette.legend.map((shade) => (
        <li key={shade.label}>
          <span class={`swatch token ${shade.name}`} aria-hidden="true">
            <b>{shade.sign || sample}</b>
          </span>
          {stageName(shade.label)} <small>{count(shade.count)}</small>
        </li>
      ))}
      <li class="hidden">{meanings[palette.mode]}</li>
    </ul>
  );
}
