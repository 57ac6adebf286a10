// SPDX-License-Identifier: MIT

// The live view: what the host is doing.
import { t, tn } from "../../language/language.ts";
import "../../style/inspector.css";
import "../../style/tokens.css";
import "../../style/candidates.css";
import "../../style/live.css";
import "../../style/slots.css";
import { useSignal } from "@preact/signals";
import { useEffect, useMemo } from "preact/hooks";
import type { LiveFrame, LiveModel } from "../../live/liveframe.ts";
import { LiveWatch } from "../../live/livewatch.ts";
import { useApp } from "../appcontext.ts";
import { LatencyPanel } from "./latencypanel.tsx";
import { MemoryPanel } from "./memorypanel.tsx";
import { PluginPanel } from "./pluginpanel.tsx";
import { QueuePanel } from "./queuepanel.tsx";
import { SlotPanel } from "./slotpanel.tsx";
import { StripPanel } from "./strippanel.tsx";
import { Throughput } from "./throughput.tsx";

/** What the host is doing, as it does it. */
export default function LiveView() {
  const watch = useWatch();
  const chosen = useSignal("");
  const frame = watch.frame.value;
  const models = frame?.models ?? [];
  const loaded = models.filter((model) => model.state === "loaded");
  const model = loaded.find(({ name }) => name === chosen.value) ?? loaded[0];
  return (
    <main id="scroller" class="live">
      <header>
        <h2 class={loaded.length > 1 ? "hidden" : ""}>{model?.name ?? t("No model")}</h2>
        {loaded.length > 1 && <ModelChoice models={loaded} shown={model?.name ?? ""} choose={chosen} />}
        {model !== undefined && <Throughput model={model} rates={watch.of(model.name).rates} />}
      </header>
      {watch.problem.value !== "" && (
        <p class="problem" role="alert">
          <strong>{t("The server shows no live view: {why}", { why: watch.problem.value })}</strong>
        </p>
      )}
      <Loading frame={frame} />
      {model !== undefined && <ModelView key={model.name} model={model} watch={watch} />}
    </main>
  );
}

function ModelView({ model, watch }: { model: LiveModel; watch: LiveWatch }) {
  const { ticks, rates } = watch.of(model.name);
  return (
    <>
      <StripPanel ticks={ticks} watch={watch} />
      <SlotPanel model={model} rates={rates} />
      <div class="panels">
        <QueuePanel queue={model.queue} />
        <MemoryPanel cells={model.cells} />
        <LatencyPanel itl={model.itl} />
        <PluginPanel plugins={model.plugins} />
      </div>
    </>
  );
}

function useWatch(): LiveWatch {
  const { connection, watching } = useApp();
  const visible = useSignal(document.visibilityState === "visible");
  const watch = useMemo(() => new LiveWatch(connection, watching, visible), [connection, watching, visible]);
  useEffect(() => {
    const seen = () => {
      visible.value = document.visibilityState === "visible";
    };
    document.addEventListener("visibilitychange", seen);
    return () => {
      document.removeEventListener("visibilitychange", seen);
      watch.stop();
    };
  }, [watch, visible]);
  return watch;
}

interface ChoiceProps {
  models: readonly LiveModel[];
  shown: string;
  choose: { value: string };
}

function ModelChoice({ models, shown, choose }: ChoiceProps) {
  return (
    <label class="choice">
      <span class="hidden">{t("Model")}</span>
      <select
        value={shown}
        onChange={(event) => {
          choose.value = event.currentTarget.value;
        }}
      >
        {models.map(({ name }) => (
          <option key={name} value={name}>
            {name}
          </option>
        ))}
      </select>
    </label>
  );
}

/** What is said while there is nothing to show, or models are on their way. */
function Loading({ frame }: { frame: LiveFrame | undefined }) {
  if (frame === undefined) return <p class="note">{t("Waiting for the server…")}</p>;
  if (frame.models.length === 0)
    return (
      <p class="note">
        {t("No model is loaded. The first question in a chat loads one, and then its slots are shown here.")}
      </p>
    );
  return frame.models
    .filter(({ state }) => state === "loading")
    .map(({ name, waiting_for_load: n }) => (
      <p class="note" key={name}>
        {loadingWords(name, n)}
      </p>
    ));
}

function loadingWords(name: string, waiting: number): string {
  if (waiting === 0) return t("{name} is being loaded.", { name });
  return tn(
    waiting,
    "{name} is being loaded; {n} answer waits for it.",
    "{name} is being loaded; {n} answers wait for it.",
    { name },
  );
}
