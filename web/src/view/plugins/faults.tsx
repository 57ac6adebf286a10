// SPDX-License-Identifier: MIT

// How often a plugin failed, and the way out of quarantine.
import type { PluginFile } from "../../plugins/pluginfile.ts";
import { count } from "../../text/numberformat.ts";
import { useCatalog } from "./catalogcontext.ts";

/** How often a plugin has faulted, what happened last, and a way out of quarantine. */
export function Faults({ plugin }: { plugin: PluginFile }) {
  const catalog = useCatalog();
  const { name, state, faults, lastFault, faultedAt } = plugin;
  const at = new Date(faultedAt);
  return (
    <div class="warning faults">
      <p>
        {state === "quarantined" && (
          <>
            <strong>Quarantined.</strong> Whoever made it fault again and again has to wait before using it
            again; others use it as before.{" "}
          </>
        )}
        It has faulted {faults === 1 ? "once" : `${count(faults)} times`}
        {Number.isNaN(at.getTime()) ? "" : ", last "}
        {!Number.isNaN(at.getTime()) && <time dateTime={faultedAt}>{timeWords(at)}</time>}
        {lastFault === "" ? "." : ":"}
      </p>
      {lastFault !== "" && <pre class="fault">{lastFault}</pre>}
      <button type="button" class="quiet" onClick={() => catalog.reset(name)}>
        {state === "quarantined" ? "End the quarantine" : "Forget the faults"}
      </button>
    </div>
  );
}

function timeWords(at: Date): string {
  const today = at.toDateString() === new Date().toDateString();
  return today ? `at ${at.toLocaleTimeString("en-GB")}` : `on ${at.toLocaleString("en-GB")}`;
}
