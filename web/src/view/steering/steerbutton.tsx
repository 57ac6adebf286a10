// SPDX-License-Identifier: MIT

// The button that opens the controls of a running answer.
import { signal, useComputed } from "@preact/signals";
import { useCallback, useId } from "preact/hooks";
import type { RunningAnswer } from "../../chats/runninganswer.ts";
import { t } from "../../language/language.ts";
import { useApp } from "../appcontext.ts";
import { Icon } from "../icon.tsx";
import { Lazy } from "../lazy.tsx";

const open = signal(false); // who steers one answer may steer the next

/**
 * The way to the controls of an answer that runs. They stand above the message field, where no
 * text that grows moves them. A paused answer shows them: nothing happens there otherwise.
 */
export function SteerButton({ id }: { id: string }) {
  const { answers } = useApp();
  const panel = useId();
  const run = useComputed(() => answers.running.value.get(id)).value;
  const phase = useComputed(() => run?.message.value.answer?.phase).value;
  if (run === undefined || phase === "stopping") return null;
  const shown = open.value || phase === "paused";
  return (
    <>
      <button
        type="button"
        class="quiet steer"
        aria-expanded={shown}
        aria-controls={panel}
        disabled={phase === "paused"}
        onClick={() => {
          open.value = !shown;
        }}
      >
        <Icon name="steer" />
        {t("Steer")}
      </button>
      <div id={panel}>{shown && <Controls key={id} run={run} />}</div>
    </>
  );
}

function Controls({ run }: { run: RunningAnswer }) {
  const load = useCallback(async () => {
    const { SteeringPanel } = await import("./steeringpanel.tsx");
    return { default: () => <SteeringPanel run={run} /> };
  }, [run]);
  return <Lazy load={load} />;
}
