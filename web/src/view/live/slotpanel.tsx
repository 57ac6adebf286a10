// SPDX-License-Identifier: MIT

// The slots, and what each is doing.
import { t, tn, tx } from "../../language/language.ts";
import type { LiveModel, LiveSlot } from "../../live/liveframe.ts";
import { standing, stateWords, waitWords } from "../../live/livewords.ts";
import type { Rates } from "../../live/rates.ts";
import { count, duration, tenths, tokens } from "../../text/numberformat.ts";
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
    <section class="slots" aria-label={t("Slots")}>
      <h3>{t("Slots")}</h3>
      <p class="hint">{t("Each slot holds one answer; answers beyond them wait in the queue.")}</p>
      {busy.length > 0 && (
        <ul>
          {busy.map((slot) => (
            <Slot key={slot.request} slot={slot} rate={rates.of(slot)} />
          ))}
        </ul>
      )}
      {busy.length === 0 ? (
        <p class="note">
          {tx(
            "All {n} slots are free. {link}: its prompt is read and its answer is written in one of them, and each tick of that shows here.",
            { n: String(free), link: <a href="#/">{t("Ask something in a chat")}</a> },
          )}
        </p>
      ) : (
        free > 0 && <p class="note">{tn(free, "{n} slot is free.", "{n} slots are free.")}</p>
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
        <b title={t("Slot {n}", { n: slot.slot })}>{slot.slot}</b>
        {slot.id === undefined ? <span>{t("Another client")}</span> : <ChatLink run={run} />}
        <span class="state">{stateWords(slot)}</span>
      </header>
      <Progress slot={slot} />
      <p class="counts">
        <span>{amount(slot)}</span>
        {standing(slot) === "writing" && rate !== undefined && (
          <span class="rate">
            {tx("{rate} tokens/s", { rate: <b>{rate < 10 ? tenths(rate) : count(rate)}</b> })}
          </span>
        )}
        <span>{duration(slot.age_ms ?? 0)}</span>
      </p>
      {why !== "" && <p class="why">{why}</p>}
      {((slot.plugins?.length ?? 0) > 0 || (slot.priority ?? 0) !== 0) && (
        <ul class="using" aria-label={t("Plugins")}>
          {slot.plugins?.map((name) => (
            <li key={name}>{name}</li>
          ))}
          {(slot.priority ?? 0) !== 0 && <li>{t("priority {n}", { n: slot.priority ?? 0 })}</li>}
        </ul>
      )}
      {run !== undefined && (
        <details class="steer">
          <summary>{t("Steer")}</summary>
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
  if (written === 0) return t("{done} of {total} prompt tokens", { done: count(done), total: count(prompt) });
  if (most === undefined) return tokens(written);
  return t("{n} of {most} tokens", { n: count(written), most: count(most) });
}

/** How far the prompt is computed, or how much of the longest answer is written. */
function Progress({ slot }: { slot: LiveSlot }) {
  const { prompt_tokens: prompt = 0, prompt_done: done = 0, cached_tokens: cached = 0 } = slot;
  const { generated_tokens: written = 0, max_tokens: most } = slot;
  const reading = written === 0;
  if (!reading && most === undefined)
    return <Meter label={t("The answer has no limit")} parts={[{ kind: "endless", part: 1 }]} />;
  if (!reading) {
    const part = written / Math.max(most ?? 1, 1);
    return (
      <Meter
        label={t("{n} % of the longest answer", { n: Math.round(100 * part) })}
        parts={[{ kind: "written", part }]}
      />
    );
  }
  const whole = Math.max(prompt, 1);
  return (
    <Meter
      label={t("{n} % of the prompt", { n: Math.round((100 * done) / whole) })}
      parts={[
        { kind: "kept", part: Math.min(cached, done) / whole },
        { kind: "read", part: Math.max(0, done - cached) / whole },
      ]}
    />
  );
}
