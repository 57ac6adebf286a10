// SPDX-License-Identifier: MIT

// What the plugins view shows where there are none.
import { t, tx } from "../../language/language.ts";

/** What is shown where there are no plugins yet. */
export function EmptyFolder() {
  return (
    <section class="plugins-empty" aria-label={t("No plugins yet")}>
      <h2>{t("No plugins yet")}</h2>
      <p>
        {t(
          "A plugin takes over one decision of an answer: how the prompt is written, which token comes next, or when the answer ends. It runs in a sandbox with limits of time and memory, and a fault in it ends one answer at most.",
        )}
      </p>
      <p>{t("Build those that come with the server, and start it with them:")}</p>
      <pre>
        <code>make run</code>
      </pre>
      <p>
        {tx("Or drop a .wasm file here. To write one in Go or Rust takes five minutes: {go}, {rust}.", {
          go: <code>docs/plugins/go.md</code>,
          rust: <code>docs/plugins/rust.md</code>,
        })}
      </p>
    </section>
  );
}

/** What is shown where nobody may upload. */
export function ClosedFolder() {
  return (
    <section class="plugins-closed" role="alert">
      <h2>{t("This server takes no changes over the network")}</h2>
      <p>{t("It was started without an admin key. Whoever runs it can start it with one:")}</p>
      <pre>
        <code>penstock serve --admin-key KEY</code>
      </pre>
      <p>
        {tx(
          "Or copy the .wasm file into its plugin folder ({option}, by default {folder}). The server finds it there within a second, and it appears here by itself.",
          { option: <code>--plugin-dir</code>, folder: <code>plugins</code> },
        )}
      </p>
    </section>
  );
}

export function NoPlugins() {
  return (
    <section class="plugins-empty" aria-label={t("No plugins here")}>
      <h2>{t("This server runs no plugins")}</h2>
      <p>{t("It may be an older version, or another server than Penstock behind this page.")}</p>
    </section>
  );
}
