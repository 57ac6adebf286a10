// SPDX-License-Identifier: MIT

// How often a plugin failed, and the way out of quarantine.
import { language, t, tn, tx } from "../../language/language.ts";
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
            {tx(
              "{quarantined} Whoever made it fault again and again has to wait before using it again; others use it as before.",
              { quarantined: <strong>{t("Quarantined.")}</strong> },
            )}{" "}
          </>
        )}
        {tn(faults, "It has faulted once.", "It has faulted {n} times.", { n: count(faults) })}{" "}
        {!Number.isNaN(at.getTime()) && lastTime(at, faultedAt)}
      </p>
      {lastFault !== "" && <pre class="fault">{lastFault}</pre>}
      <button type="button" class="quiet" onClick={() => catalog.reset(name)}>
        {state === "quarantined" ? t("End the quarantine") : t("Forget the faults")}
      </button>
    </div>
  );
}

function lastTime(at: Date, iso: string) {
  const locale = language === "en" ? "en-GB" : language;
  const today = at.toDateString() === new Date().toDateString();
  const time = (
    <time dateTime={iso}>{today ? at.toLocaleTimeString(locale) : at.toLocaleString(locale)}</time>
  );
  return today ? tx("The last time was at {time}.", { time }) : tx("The last time was on {time}.", { time });
}
