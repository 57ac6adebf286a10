// SPDX-License-Identifier: MIT

// Four numbers: how much is done now.
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
      <Figure name="generated" value={count(generated)} unit="tokens/s" />
      <Figure name="prompts" value={count(prompt)} unit="tokens/s" />
      <Figure name="ticks" value={count(ticks)} unit="a second" />
      <Figure name="slots" value={String(taken)} unit={`of ${model.slots.length} in use`} />
    </dl>
  );
}

function Figure({ name, value, unit }: { name: string; value: string; unit: string }) {
  return (
    <div data-figure={name}>
      <dt>{name}</dt>
      <dd>
        <b>{value}</b> {unit}
      </dd>
    </div>
  );
}
