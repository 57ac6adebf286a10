// SPDX-License-Identifier: MIT

// Loads a part of the page when it is first shown.
import { useSignal } from "@preact/signals";
import type { ComponentType } from "preact";
import { useCallback, useEffect } from "preact/hooks";
import { t } from "../language/language.ts";

interface Props<P> {
  load(): Promise<{ default: ComponentType<P> }>;
  with?: P; // what the part gets
}

/**
 * A part of the page whose code is loaded when it is first shown, so that the first load stays
 * small.
 */
export function Lazy<P extends object = object>({ load, with: props }: Props<P>) {
  const part = useSignal<{ view: ComponentType<P> } | undefined>(undefined);
  const failed = useSignal(false);
  const fetchPart = useCallback(async () => {
    failed.value = false;
    try {
      part.value = { view: (await load()).default };
    } catch {
      failed.value = true;
    }
  }, [load, part, failed]);
  useEffect(() => void fetchPart(), [fetchPart]);
  const View = part.value?.view;
  if (View !== undefined) return <View {...(props as P)} />;
  if (!failed.value) {
    return (
      <p class="loading" role="status">
        {t("Loading…")}
      </p>
    );
  }
  return (
    <div class="loading" role="alert">
      <p>
        {t(
          "This part of the page could not be loaded. If the server was updated meanwhile, reload the page: your chats are kept.",
        )}
      </p>
      <button type="button" class="link" onClick={() => void fetchPart()}>
        {t("Try again")}
      </button>{" "}
      <button type="button" class="link" onClick={() => location.reload()}>
        {t("Reload")}
      </button>
    </div>
  );
}
