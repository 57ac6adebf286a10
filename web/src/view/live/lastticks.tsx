// SPDX-License-Identifier: MIT

// The last ticks as a table.
import { useSignal } from "@preact/signals";
import { t } from "../../language/language.ts";
import type { Tick, Ticks } from "../../live/ticks.ts";
import { duration } from "../../text/numberformat.ts";
import { SideScroll } from "./sidescroll.tsx";

const most = 12;

/**
 * The last ticks as a table, for those who read numbers better than a picture. It is that of the
 * moment when it was opened.
 */
export function LastTicks({ ticks }: { ticks: Ticks }) {
  const rows = useSignal<readonly Tick[]>([]);
  const read = () => {
    rows.value = Array.from({ length: most }, (_, i) => ticks.at(ticks.size - 1 - i)).filter(
      (tick) => tick !== undefined,
    );
  };
  return (
    <details onToggle={(event) => event.currentTarget.open && read()}>
      <summary>{t("The last ticks as a table")}</summary>
      <SideScroll label={t("The last ticks")}>
        <table>
          <thead>
            <tr>
              <th scope="col">{t("Tick")}</th>
              <th scope="col">{t("Tokens of answers")}</th>
              <th scope="col">{t("Tokens of prompts")}</th>
              <th scope="col">{t("Passes")}</th>
              <th scope="col">{t("Model")}</th>
              <th scope="col">{t("Sampling")}</th>
              <th scope="col">{t("Plugins")}</th>
              <th scope="col">{t("In all")}</th>
            </tr>
          </thead>
          <tbody>{rows.value.map(row)}</tbody>
        </table>
      </SideScroll>
      <button type="button" class="link" onClick={read}>
        {t("Read again")}
      </button>
    </details>
  );
}

function row(tick: Tick) {
  return (
    <tr key={tick.number}>
      <th scope="row">{tick.number}</th>
      <td>{tick.decode}</td>
      <td>{tick.prefill}</td>
      <td>{tick.passes}</td>
      {[tick.forward, tick.sample, tick.plugin, tick.total].map((ms, i) => (
        <td key={i}>{duration(ms)}</td>
      ))}
    </tr>
  );
}
