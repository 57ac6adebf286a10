// SPDX-License-Identifier: MIT

// The slots, and what each is doing.
import type { LiveModel, LiveSlot } from "../../live/liveframe.ts";
import { standing, stateWords, waitWords } from "../../live/livewords.ts";
import type { Rates } from "../../live/rates.ts";
import { count, duration } from "../../text/numberformat.ts";
import { useApp } from "../appcontext.ts";
import { SteeringPanel } from "../steering/steeringpanel.tsx";
import { ChatLink, runNamed } from "./chatlink.tsx";
import { Meter } from "./meter.tsx";

interface Props {
  model: LiveModel;
  rates: Rates;
}

/** The slots: those at work one by one, the free ones in a line. */
export function SlotPanel({ model, rates }: Props) {
  const busy = model.slots.filter((slot) => slot.state !== "idle");
  const free = model.slots.length - busy.length;
  return (
    <section class="slots" aria-label="Slots">
      <h3>Slots</h3>
      <p class="hint">Each slot holds one answer; answers beyond them wait in the queue.</p>
      {busy.length > 0 && (
        <ul>
          {busy.map((slot) => (
            <Slot key={slot.request} slot={slot} rate={rates.of(slot)} />
          ))}
        </ul>
      )}
      {busy.length === 0 ? (
        <p class="note">
          All {free} slots are free. <a href="#/">Ask something in a chat</a>: its prompt is read and its
          answer is written in one of them, and each tick of that shows here.
        </p>
      ) : (
        free > 0 && (
          <p class="note">
            {free} {free === 1 ? "slot is" : "slots are"} free.
          </p>
        )
      )}
    </section>
  );
}

function Slot({ slot, rate }: { slot: LiveSlot; rate: number | undefined }) {
  const { answers } = useApp();
  const run = runNamed(answers.running.value, slot.id);
  const why = waitWords(slot.waits_for, slot.plugins);
  return (
    <li class="slot" data-standing={standing(slot)} data-own={slot.id !== undefined}>
      <header>
        <b title={`Slot ${slot.slot}`}>{slot.slot}</b>
        {slot.id === undefined ? <span>Another client</span> : <ChatLink run={run} />}
        <span class="state">{stateWords(slot)}</span>
      </header>
      <Progress slot={slot} />
      <p class="counts">
        <span>{amount(slot)}</span>
        {standing(slot) === "writing" && rate !== undefined && (
          <span class="rate">
            <b>{rate < 10 ? rate.toFixed(1) : count(rate)}</b> tokens/s
          </span>
        )}
        <span>{duration(slot.age_ms ?? 0)}</span>
      </p>
      {why !== "" && <p class="why">{why}</p>}
      {((slot.plugins?.length ?? 0) > 0 || (slot.priority ?? 0) !== 0) && (
        <ul class="using" aria-label="Plugins">
          {slot.plugins?.map((name) => (
            <li key={name}>{name}</li>
          ))}
          {(slot.priority ?? 0) !== 0 && <li>priority {slot.priority}</li>}
        </ul>
      )}
      {run !== undefined && (
        <details class="steer">
          <summary>Steer</summary>
          <SteeringPanel run={run} />
        </details>
      )}
    </li>
  );
}

function amount(slot: LiveSlot): string {
  const {
    prompt_tokens: prompt = 0,
    prompt_done: done = 0,
    generated_tokens: written = 0,
    max_tokens: most,
  } = slot;
  if (written === 0) return `${count(done)} of ${count(prompt)} prompt tokens`;
  return `${count(written)}${most === undefined ? "" : ` of ${count(most)}`} tokens`;
}

/** How far the prompt is computed, or how much of the longest answer is written. */
function Progress({ slot }: { slot: LiveSlot }) {
  const { prompt_tokens: prompt = 0, prompt_done: done = 0, cached_tokens: cached = 0 } = slot;
  const { generated_tokens: written = 0, max_tokens: most } = slot;
  const reading = written === 0;
  if (!reading && most === undefined)
    return <Meter label="The answer has no limit" parts={[{ kind: "endless", part: 1 }]} />;
  if (!reading) {
    const part = written / Math.max(most ?? 1, 1);
    return (
      <Meter
        label={`${Math.round(100 * part)} % of the longest answer`}
        parts={[{ kind: "written", part }]}
      />
    );
  }
  const whole = Math.max(prompt, 1);
  return (
    <Meter
      label={`${Math.round((100 * done) / whole)} % of the prompt`}
      parts={[
        { kind: "kept", part: Math.min(cached, done) / whole },
        { kind: "read", part: Math.max(0, done - cached) / whole },
      ]}
    />
  );
}
