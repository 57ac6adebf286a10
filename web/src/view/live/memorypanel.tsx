// SPDX-License-Identifier: MIT

// How full the KV cache is.
import type { LiveModel } from "../../live/liveframe.ts";
import { count } from "../../text/numberformat.ts";
import { Meter } from "./meter.tsx";

/** How full the KV cache is. */
export function MemoryPanel({ cells }: { cells: LiveModel["cells"] }) {
  const { total, used, cached } = cells;
  const running = used - cached;
  const part = (n: number) => (total > 0 ? n / total : 0);
  const percent = (n: number) => `${Math.round(100 * part(n))} %`;
  return (
    <section class="panel" aria-label="Memory">
      <h3>Memory</h3>
      <p class="hint">What the model remembers of each token (KV cache).</p>
      <p>
        Room for {count(total)} tokens, of which {count(used)} are taken.
      </p>
      <Meter
        label={`Memory: ${percent(running)} in use, ${percent(cached)} kept from earlier`}
        parts={[
          { kind: "running", part: part(running) },
          { kind: "kept", part: part(cached) },
        ]}
      />
      <ul class="legend">
        <li>
          <i data-part="running" />
          running answers {count(running)} ({percent(running)})
        </li>
        <li>
          <i data-part="kept" />
          kept from earlier {count(cached)} ({percent(cached)})
        </li>
      </ul>
    </section>
  );
}
