// SPDX-License-Identifier: MIT

// Four numbers: how much is done now.
import { t } from "../../language/language.ts";
import type { LiveModel } from "../../live/liveframe.ts";
import type { Rates } from "../../live/rates.ts";
import { count } from "../../text/numberformat.ts";

interface Props {
  model: LiveModel;
  rates: Rates;
}

/** How much is done now, in four numbers. */
export function Throughput({ model, rates }: Props) {
  const { generated, prompt, ticks } = rates.throughput;
  const taken = model.slots.filter((slot) => slot.state !== "idle").length;
  return (
    <dl class="figures">
      <Figure of="generated" name={t("generated")} value={count(generated)} unit={t("tokens/s")} />
      <Figure of="prompts" name={t("prompts")} value={count(prompt)} unit={t("tokens/s")} />
      <Figure of="ticks" name={t("ticks")} value={count(ticks)} unit={t("a second")} />
      <Figure
        of="slots"
        name={t("slots")}
        value={String(taken)}
        unit={t("of {n} in use", { n: model.slots.length })}
      />
    </dl>
  );
}

function Figure({ of, name, value, unit }: Record<"of" | "name" | "value" | "unit", string>) {
  return (
    <div data-figure={of}>
      <dt>{name}</dt>
      <dd>
        <b>{value}</b> {unit}
      </dd>
    </div>
  );
}
