// SPDX-License-Identifier: MIT

// The sampler chain in the settings: stages that can be dragged and switched.
import { type Signal, useComputed, useSignal } from "@preact/signals";
import { useLayoutEffect, useRef } from "preact/hooks";
import { t } from "../../language/language.ts";
import { pluginOf, stagesOf, withStageMoved } from "../../settings/chain.ts";
import { nativeNamed } from "../../settings/nativestages.ts";
import { Icon } from "../icon.tsx";
import { shiftOf, useDrag } from "./drag.ts";
import { DrawToken } from "./drawtoken.tsx";
import { FoldingPart } from "./foldingpart.tsx";
import { useEdit } from "./settingsedit.ts";
import { StageMenu } from "./stagemenu.tsx";
import { StageRow } from "./stagerow.tsx";

/** The sampler chain: stages that can be dragged, switched, added and taken out. */
export function ChainPart() {
  const { chat, host } = useEdit();
  const now = useComputed(() =>
    chat.settings.value.chain === undefined ? t("the server's order") : t("your order"),
  );
  const stages = useComputed(() => stagesOf(chat.settings.value, host.value).join("\n"));
  return (
    <FoldingPart title={t("Sampler chain")} now={now.value}>
      <p class="lead" id="chain-help">
        {t(
          "For each token the model rates every word piece. The stages change and thin out these candidates, from top to bottom, until one is drawn. Drag a stage by its handle, or press the arrow keys on it.",
        )}
      </p>
      <Stages stages={stages.value === "" ? [] : stages.value.split("\n")} />
      <DrawToken />
    </FoldingPart>
  );
}

function Stages({ stages }: { stages: readonly string[] }) {
  const edit = useEdit();
  const list = useRef<HTMLOListElement>(null);
  const opened = useSignal<ReadonlySet<string>>(new Set());
  const said = useSignal("");
  const refocus = useRef("");
  const fresh = useSignal(""); // the stage that was added just now
  const move = (from: number, to: number) => {
    const name = stages[from];
    if (name === undefined || to < 0 || to >= stages.length || from === to) return;
    refocus.current = name; // what is moved in the document loses the focus
    said.value = t("{stage} is now stage {n} of {total}", {
      stage: labelOf(name),
      n: to + 1,
      total: stages.length,
    });
    edit.change((settings) => ({ ...settings, chain: withStageMoved(stages, from, to) }));
  };
  useLayoutEffect(() => {
    const at = stages.indexOf(refocus.current);
    refocus.current = "";
    if (at >= 0) list.current?.children[at]?.querySelector<HTMLElement>(".grip")?.focus();
  }, [stages.join("\n")]);
  useFresh(list, stages, fresh);
  const { drag, start } = useDrag(list, move);
  const toggle = (name: string) => {
    const next = new Set(opened.peek());
    if (!next.delete(name)) next.add(name);
    opened.value = next;
  };
  const keys = (event: KeyboardEvent, at: number) => {
    const grip = (event.target as HTMLElement).classList.contains("grip");
    const by = { ArrowUp: -1, ArrowDown: 1 }[event.key];
    if (by === undefined || !(grip || event.altKey)) return;
    event.preventDefault();
    move(at, at + by);
  };
  return (
    <>
      <ol class="stages" ref={list} aria-label={t("Stages")} data-dragging={drag.value !== undefined}>
        {stages.map((name, at) => (
          <li
            key={name}
            data-dragged={drag.value?.from === at}
            style={drag.value && { transform: `translateY(${shiftOf(at, drag.value)}px)` }}
            onKeyDown={(event) => keys(event, at)}
          >
            <StageRow
              name={name}
              place={t("stage {n} of {total}", { n: at + 1, total: stages.length })}
              open={opened.value.has(name)}
              toggle={() => toggle(name)}
              grip={<Grip stage={labelOf(name)} start={(event) => start(event, at)} />}
            />
          </li>
        ))}
      </ol>
      <p class="hidden" role="status">
        {said}
      </p>
      <StageMenu
        added={(name) => {
          said.value = t("{stage} was added", { stage: labelOf(name) });
          opened.value = new Set(opened.peek()).add(name);
          fresh.value = name;
        }}
      />
    </>
  );
}

function Grip({ stage, start }: { stage: string; start(event: PointerEvent): void }) {
  return (
    <button
      type="button"
      class="grip"
      aria-label={t("Move {stage}", { stage })}
      aria-describedby="chain-help"
      title={t("Drag, or press the arrow keys")}
      onPointerDown={start}
    >
      <Icon name="grip" />
    </button>
  );
}

function labelOf(name: string): string {
  return pluginOf(name) ?? nativeNamed(name)?.label ?? name;
}

/** Brings a stage that was added into sight, with the focus in its first field. */
function useFresh(
  list: { current: HTMLOListElement | null },
  stages: readonly string[],
  fresh: Signal<string>,
): void {
  useLayoutEffect(() => {
    const at = stages.indexOf(fresh.value);
    if (at < 0) return;
    fresh.value = "";
    const stage = list.current?.children[at];
    const field = stage?.querySelector<HTMLElement>(".stage-body :is(input, textarea, select, button)");
    (field ?? stage?.querySelector<HTMLElement>(".stage-name"))?.focus({ preventScroll: true });
    stage?.scrollIntoView({ block: "nearest" });
  }, [stages.join("\n"), fresh.value]);
}
