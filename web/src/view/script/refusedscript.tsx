// SPDX-License-Identifier: MIT

// Says why this server takes no scripts, and what to set.
import { t, tx } from "../../language/language.ts";
import type { Refusal } from "../../scripts/rehearsal.ts";

/** Why this server takes no scripts, and what its operator can set. */
export function RefusedScript({ refusal: { said, help } }: { refusal: Refusal }) {
  return (
    <div class="problem" role="alert">
      <p>{said}</p>
      {help === "allow" && (
        <p>
          {tx(
            "Scripts are on where only this machine or holders of an API key can ask. Its operator can set {setting}: {on} lets everybody send them, {keys} the keys of {list}.",
            {
              setting: <code>plugins.scripts</code>,
              on: <code>on</code>,
              keys: <code>keys</code>,
              list: <code>plugins.script_keys</code>,
            },
          )}
        </p>
      )}
      {help === "update" && <p>{t("A newer version of Penstock does.")}</p>}
    </div>
  );
}
