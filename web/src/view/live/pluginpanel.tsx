// SPDX-License-Identifier: MIT

// What the plugins of a model do.
import type { LivePlugin } from "../../live/liveframe.ts";
import { joinWords } from "../../live/livewords.ts";
import { count, duration } from "../../text/numberformat.ts";
import { SideScroll } from "./sidescroll.tsx";

const states: Record<string, string> = {
  ready: "Ready",
  quarantined: "In quarantine for a client",
  failed: "Cannot be used with this model",
};

/** What plugins do, since the model was loaded. */
export function PluginPanel({ plugins }: { plugins: readonly LivePlugin[] }) {
  const idle = plugins.filter(({ calls, faults, state }) => calls + faults === 0 && state === "ready");
  const others = plugins.filter((plugin) => !idle.includes(plugin)).sort((a, b) => b.calls - a.calls);
  return (
    <section class="panel wide" aria-label="Plugins">
      <h3>Plugins</h3>
      {plugins.length === 0 ? (
        <p>
          The server has no plugins. <a href="#/plugins">Add one</a>, and its calls are counted here.
        </p>
      ) : (
        <>
          <SideScroll label="What plugins do">
            <table>
              <thead>
                <tr>
                  <th scope="col">Name</th>
                  <th scope="col">State</th>
                  <th scope="col">Calls</th>
                  <th scope="col">A call takes</th>
                  <th scope="col">In all</th>
                  <th scope="col">Faults</th>
                </tr>
              </thead>
              <tbody>{others.map(row)}</tbody>
            </table>
          </SideScroll>
          {idle.length > 0 && <p class="note">Not called yet: {joinWords(idle.map(({ name }) => name))}.</p>}
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
