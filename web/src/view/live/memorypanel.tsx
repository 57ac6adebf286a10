// SPDX-License-Identifier: MIT

// How full the KV cache is.
import { t } from "../../language/language.ts";
import type { LiveModel } from "../../live/liveframe.ts";
import { count } from "../../text/numberformat.ts";
import { Meter } from "./meter.tsx";

/** How full the KV cache is. */
export function MemoryPanel({ cells }: { cells: LiveModel["cells"] }) {
  const { total, used, cached } = cells;
  const running = used - cached;
  const part = (n: number) => (total > 0 ? n / total : 0);
  const percent = (n: number) => t("{n} %", { n: Math.round(100 * part(n)) });
  return (
    <section class="panel" aria-label={t("Memory")}>
      <h3>{t("Memory")}</h3>
      <p class="hint">{t("What the model remembers of each token (KV cache).")}</p>
      <p>{t("Room for {n} tokens, of which {used} are taken.", { n: count(total), used: count(used) })}</p>
      <Meter
        label={t("Memory: {running} in use, {kept} kept from earlier", {
          running: percent(running),
          kept: percent(cached),
        })}
        parts={[
          { kind: "running", part: part(running) },
          { kind: "kept", part: part(cached) },
        ]}
      />
      <ul class="legend">
        <li>
          <i data-part="running" />
          {t("running answers {n} ({p})", { n: count(running), p: percent(running) })}
        </li>
        <li>
          <i data-part="kept" />
          {t("kept from earlier {n} ({p})", { n: count(cached), p: percent(cached) })}
        </li>
      </ul>
    </section>
  );
}
