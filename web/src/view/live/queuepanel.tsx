// SPDX-License-Identifier: MIT

// Who waits for a slot.
import { t } from "../../language/language.ts";
import type { LiveQueue } from "../../live/liveframe.ts";
import { queueWords, waitWords } from "../../live/livewords.ts";
import { duration } from "../../text/numberformat.ts";
import { useApp } from "../appcontext.ts";
import { ChatLink, runNamed } from "./chatlink.tsx";

/** Who waits for a slot. */
export function QueuePanel({ queue }: { queue: LiveQueue }) {
  const { answers } = useApp();
  return (
    <section class="panel" aria-label={t("Queue")}>
      <h3>{t("Queue")}</h3>
      <p>{queueWords(queue)}</p>
      {queue.own.length > 0 && (
        <ol class="waiting">
          {queue.own.map((entry) => (
            <li key={entry.id} value={entry.place}>
              <ChatLink run={runNamed(answers.running.value, entry.id)} />
              <small>
                {t("Place {n}, for {time}.", { n: entry.place, time: duration(entry.age_ms) })}{" "}
                {waitWords(entry.waits_for)}
              </small>
            </li>
          ))}
        </ol>
      )}
    </section>
  );
}
