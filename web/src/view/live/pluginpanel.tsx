// SPDX-License-Identifier: MIT

// What the plugins of a model do.
import { list, t, tx } from "../../language/language.ts";
import type { LivePlugin } from "../../live/liveframe.ts";
import { count, duration } from "../../text/numberformat.ts";
import { SideScroll } from "./sidescroll.tsx";

const states: Record<string, string> = {
  ready: t("Ready"),
  quarantined: t("In quarantine for a client"),
  failed: t("Cannot be used with this model"),
};

/** What plugins do, since the model was loaded. */
export function PluginPanel({ plugins }: { plugins: readonly LivePlugin[] }) {
  const idle = plugins.filter(({ calls, faults, state }) => calls + faults === 0 && state === "ready");
  const others = plugins.filter((plugin) => !idle.includes(plugin)).sort((a, b) => b.calls - a.calls);
  return (
    <section class="panel wide" aria-label={t("Plugins")}>
      <h3>{t("Plugins")}</h3>
      {plugins.length === 0 ? (
        <p>
          {tx("The server has no plugins. {link}, and its calls are counted here.", {
            link: <a href="#/plugins">{t("Add one")}</a>,
          })}
        </p>
      ) : (
        <>
          <SideScroll label={t("What plugins do")}>
            <table>
              <thead>
                <tr>
                  <th scope="col">{t("Name")}</th>
                  <th scope="col">{t("State")}</th>
                  <th scope="col">{t("Calls")}</th>
                  <th scope="col">{t("A call takes")}</th>
                  <th scope="col">{t("In all")}</th>
                  <th scope="col">{t("Faults")}</th>
                </tr>
              </thead>
              <tbody>{others.map(row)}</tbody>
            </table>
          </SideScroll>
          {idle.length > 0 && (
            <p class="note">{t("Not called yet: {names}.", { names: list(idle.map(({ name }) => name)) })}</p>
          )}
        </>
      )}
    </section>
  );
}

function row({ name, state, calls, time_ms, faults }: LivePlugin) {
  return (
    <tr key={name}>
      <th scope="row">{name}</th>
      <td data-state={state}>{states[state] ?? state}</td>
      <td>{count(calls)}</td>
      <td>{calls > 0 ? duration(time_ms / calls) : "–"}</td>
      <td>{duration(time_ms)}</td>
      <td data-faults={faults > 0 ? "some" : "none"}>{count(faults)}</td>
    </tr>
  );
}
