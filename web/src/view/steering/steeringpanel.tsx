// SPDX-License-Identifier: MIT

// The controls of a running answer: pause, rewind, inject, fork.
import { type ReadonlySignal, useComputed } from "@preact/signals";
import type { Phase } from "../../chats/message.ts";
import type { RunningAnswer } from "../../chats/runninganswer.ts";
import { t } from "../../language/language.ts";
import { tokens } from "../../text/numberformat.ts";
import { useApp } from "../appcontext.ts";
import { Icon } from "../icon.tsx";
import { InjectField } from "./injectfield.tsx";
import { RewindList } from "./rewindlist.tsx";
import { Tuning } from "./tuning.tsx";

/** The controls of an answer that runs, wherever it is shown. */
export function SteeringPanel({ run }: { run: RunningAnswer }) {
  const phase = useComputed(() => run.message.value.answer?.phase ?? "done");
  const connected = useComputed(() => ["waiting", "streaming", "paused"].includes(phase.value));
  const stay = (event: KeyboardEvent) => {
    // Else Escape would stop the answer, and the arrows would walk between its versions.
    if (event.key === "Escape" || event.key.startsWith("Arrow")) event.stopPropagation(); // untranslated: keys
  };
  return (
    <section class="steering" aria-label={t("Steer this answer")} onKeyDown={stay}>
      <fieldset disabled={!connected.value}>
        <legend class="hidden">{t("Steer this answer")}</legend>
        <div class="steering-bar">
          <Hold run={run} phase={phase} />
          <Fork run={run} />
          <button type="button" class="quiet" onClick={() => run.stop()}>
            <Icon name="stop" />
            {t("Stop")}
          </button>
          <TakeBack run={run} />
        </div>
        <Standing run={run} phase={phase} />
        {phase.value === "paused" && <RewindList run={run} />}
        <div class="steering-fields">
          <InjectField run={run} />
          <Tuning run={run} />
        </div>
      </fieldset>
    </section>
  );
}

interface Props {
  run: RunningAnswer;
  phase: ReadonlySignal<Phase>;
}

function Hold({ run, phase }: Props) {
  const paused = phase.value === "paused";
  return (
    <button type="button" class="quiet hold" onClick={() => (paused ? run.resume() : run.pause())}>
      <Icon name={paused ? "play" : "pause"} />
      {paused ? t("Resume") : t("Pause")}
    </button>
  );
}

/** Says where the answer stands, and to a screen reader when that changes. */
function Standing({ run, phase }: Props) {
  const { chats } = useApp();
  const words = useComputed(() => {
    const at = chats.of(run)?.beside.value.indexOf(run.id) ?? -1;
    const which = ordinals[at] ?? "";
    const paused = () =>
      t("Paused after {tokens}. Others may use its slot meanwhile.", {
        tokens: tokens(run.message.value.answer?.tokens ?? 0),
      });
    const stands = phase.value === "paused" ? paused() : (standing[phase.value] ?? "");
    if (which === "" || stands === "") return which + stands;
    return t("{first} {second}", { first: which, second: stands });
  });
  return (
    <p class="hint" role="status">
      {words}
    </p>
  );
}

const ordinals = [
  t("This is the first answer."),
  t("This is the second answer."),
  t("This is the third answer."),
  t("This is the fourth answer."),
];

const standing: Partial<Record<Phase, string>> = {
  waiting: t("It waits for its turn. What is inserted now is there when it begins."),
  lost: t("The connection is lost. The answer can be steered again once it is back."),
};

const steps = [1, 5, 20];

function TakeBack({ run }: { run: RunningAnswer }) {
  const none = useComputed(() => (run.message.value.answer?.tokens ?? 0) === 0).value;
  return (
    <fieldset class="take-back" disabled={none}>
      <legend class="hidden">{t("Take back")}</legend>
      <span aria-hidden="true">
        <Icon name="back" />
        {t("Take back")}
      </span>
      {steps.map((n) => {
        const label = t("Take back {tokens}", { tokens: tokens(n) });
        return (
          <button
            key={n}
            type="button"
            class="quiet"
            aria-label={label}
            title={label}
            onClick={() => run.rewind(Math.min(n, run.message.peek().answer?.tokens ?? 0))}
          >
            {n}
          </button>
        );
      })}
    </fieldset>
  );
}

function Fork({ run }: { run: RunningAnswer }) {
  const { chats } = useApp();
  const elsewhere = run.watching;
  return (
    <button
      type="button"
      class="quiet"
      disabled={elsewhere}
      title={
        elsewhere
          ? t("Another tab follows this answer. Fork it there.")
          : t("A second answer goes on from here, beside this one")
      }
      onClick={() => void chats.of(run)?.fork(run.id)}
    >
      <Icon name="fork" />
      {t("Fork")}
    </button>
  );
}
