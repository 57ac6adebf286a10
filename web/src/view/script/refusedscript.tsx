// SPDX-License-Identifier: MIT

// Says why this server takes no scripts, and what to set.
import type { Refusal } from "../../scripts/rehearsal.ts";

/** Why this server takes no scripts, and what its operator can set. */
export function RefusedScript({ refusal: { said, help } }: { refusal: Refusal }) {
  return (
    <div class="problem" role="alert">
      <p>{said}</p>
      {help === "allow" && (
        <p>
          Scripts are on where only this machine or holders of an API key can ask. Its operator can set{" "}
          <code>plugins.scripts</code>: <code>on</code> lets everybody send them, <code>keys</code> the keys
          of <code>plugins.script_keys</code>.
        </p>
      )}
      {help === "update" && <p>A newer version of Penstock does.</p>}
    </div>
  );
}
