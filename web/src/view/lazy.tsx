// SPDX-License-Identifier: MIT
import { useSignal } from "@preact/signals";
import type { ComponentType } from "preact";
import { useEffect } from "preact/hooks";

interface Props {
  load(): Promise<{ default: ComponentType }>;
}

/** A part of the page whose code is loaded when it is first shown, so that the first load stays small. */
export function Lazy({ load }: Props) {
  const part = useSignal<{ view: ComponentType } | undefined>(undefined);
  const problem = useSignal("");
  useEffect(() => {
    load().then(
      (module) => {
        part.value = { view: module.default };
      },
      () => {
        problem.value = "This part of the page could not be loaded. Reload the page.";
      },
    );
  }, []);
  const View = part.value?.view;
  if (View !== undefined) return <View />;
  return <p role={problem.value === "" ? "status" : "alert"}>{problem.value || "Loading…"}</p>;
}
