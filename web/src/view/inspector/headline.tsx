// SPDX-License-Identifier: MIT

// What plugins changed, and the buttons to the next change.
import { useMemo } from "preact/hooks";
import { t } from "../../language/language.ts";
import { interventionsOf } from "../../trace/interventions.ts";
import { Icon } from "../icon.tsx";
import type { AnswerReader } from "./answerreader.ts";

/** What happened to the answer in a sentence, and the way from one such place to the next. */
export function Headline({ reader }: { reader: AnswerReader }) {
  const pieces = reader.pieces.value;
  const said = useMemo(() => interventionsOf(pieces), [pieces]);
  if (said.length === 0) return null;
  return (
    <div class="headline">
      <p>{said.join(" ")}</p>
      <ChangeButton reader={reader} step={-1} label={t("Previous change")} />
      <ChangeButton reader={reader} step={1} label={t("Next change")} />
    </div>
  );
}

function ChangeButton({ reader, step, label }: { reader: AnswerReader; step: 1 | -1; label: string }) {
  const at = reader.toChange(step);
  return (
    <button
      type="button"
      class="quiet"
      aria-label={label}
      title={label}
      disabled={at === undefined}
      onClick={() => at !== undefined && reader.focus(at)}
    >
      <Icon name={step === 1 ? "next" : "previous"} />
    </button>
  );
}
