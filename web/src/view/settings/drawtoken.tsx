// SPDX-License-Identifier: MIT

// The end of the chain: seed, Mirostat and the token record.
import { useComputed } from "@preact/signals";
import { useId } from "preact/hooks";
import { t } from "../../language/language.ts";
import { numberNamed } from "../../settings/parameters.ts";
import { Icon } from "../icon.tsx";
import { helpOf, NumberField, NumberInput, ResetButton } from "./numberfield.tsx";
import { Switch } from "./parameterfield.tsx";
import { useEdit, useParameter, useSetting } from "./settingsedit.ts";

/** The end of every chain: one of the tokens that are left is drawn. */
export function DrawToken() {
  const edit = useEdit();
  const trace = useSetting((settings) => settings.trace);
  return (
    <div class="draw">
      <h4>{t("Then one token is drawn")}</h4>
      <Seed />
      <Mirostat />
      <NumberField name="min_keep" />
      <Switch
        label={t("Token record")}
        help={t(
          "Keeps how each token was chosen, for the inspector: the candidates before and after every stage. Answers come a little slower.",
        )}
        on={trace}
        change={(on) => edit.change((settings) => ({ ...settings, trace: on }))}
      />
    </div>
  );
}

function Seed() {
  const edit = useEdit();
  const id = useId();
  const { value } = useParameter("seed");
  const last = useComputed(() => {
    const { tree } = edit.chat;
    const seeds = tree.path.value.map((message) => tree.node(message).value.answer?.seed);
    return seeds.findLast((seed) => seed !== undefined);
  }).value;
  const parameter = numberNamed("seed");
  return (
    <div class="setting" data-set={value !== undefined}>
      <label for={id}>{parameter.label}</label>
      <button
        type="button"
        class="mini"
        aria-label={t("Draw a seed")}
        title={t("Draw a seed")}
        onClick={() => edit.set("seed", drawn())}
      >
        <Icon name="dice" />
      </button>
      <ResetButton name="seed" />
      <NumberInput name="seed" id={id} />
      <small id={`${id}-help`}>
        {helpOf(parameter)}{" "}
        {last !== undefined && last !== value && (
          <button type="button" class="link" onClick={() => edit.set("seed", last)}>
            {t("Keep the seed of the last answer, {seed}", { seed: String(last) })}
          </button>
        )}
      </small>
    </div>
  );
}

const seeds = 1_000_000; // short enough to be told to somebody

function drawn(): number {
  return Math.floor(Math.random() * seeds);
}

function Mirostat() {
  const edit = useEdit();
  const id = useId();
  const { value, usual } = useParameter("mirostat");
  const now = Number(value ?? usual ?? 0);
  return (
    <>
      <div class="setting" data-set={value !== undefined}>
        <label for={id}>{numberNamed("mirostat").label}</label>
        <select
          id={id}
          aria-describedby={`${id}-help`}
          value={String(now)}
          onChange={(event) => {
            const version = Number(event.currentTarget.value);
            edit.set("mirostat", version === Number(usual ?? 0) ? undefined : version);
          }}
        >
          <option value="0">{t("off")}</option>
          <option value="1">{t("version {n}", { n: 1 })}</option>
          <option value="2">{t("version {n}", { n: 2 })}</option>
        </select>
        <small id={`${id}-help`}>{numberNamed("mirostat").help}</small>
      </div>
      {now > 0 && <NumberField name="mirostat_tau" />}
      {now > 0 && <NumberField name="mirostat_eta" />}
    </>
  );
}
