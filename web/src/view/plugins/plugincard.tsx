// SPDX-License-Identifier: MIT

// One plugin in the list.
import { useSignal } from "@preact/signals";
import { useId } from "preact/hooks";
import { kindsOf, limitsOf, type PluginFile, sizeWords } from "../../plugins/pluginfile.ts";
import { copyText } from "../clipboard.ts";
import { useCatalog } from "./catalogcontext.ts";
import { Faults } from "./faults.tsx";
import { RemoveButton } from "./removeplugin.tsx";
import { Workbench } from "./workbench.tsx";

/** One plugin: what it is, how it does, and what can be done with it. */
export function PluginCard({ plugin }: { plugin: PluginFile }) {
  const { notes } = useCatalog();
  const id = useId();
  const open = useSignal(false);
  const { name, version, summary, by, error, bundled } = plugin;
  const note = notes.value.get(name) ?? "";
  return (
    <article class="plugin" aria-labelledby={`${id}-name`}>
      <header>
        <h2 id={`${id}-name`}>{name}</h2>
        {version !== "" && <span class="version">{version}</span>}
        <StateBadge plugin={plugin} />
      </header>
      {summary !== "" && <p class="summary">{`${summary[0]?.toUpperCase()}${summary.slice(1)}`}</p>}
      <ul class="kinds" aria-label="Takes part as">
        {kindsOf(plugin).map((kind) => (
          <li key={kind.name} title={kind.title}>
            {kind.name}
          </li>
        ))}
      </ul>
      {error !== "" && (
        <p class="warning">
          The file has changed and cannot be loaded, so the plugin from before stays in use: {error}
        </p>
      )}
      {plugin.modelErrors.map((failed) => (
        <p class="warning" key={failed.model}>
          It cannot be used with the model {failed.model}: {failed.error}
        </p>
      ))}
      {plugin.faults > 0 && <Faults plugin={plugin} />}
      <button
        type="button"
        class="unfold"
        aria-expanded={open.value}
        aria-controls={`${id}-bench`}
        onClick={() => {
          open.value = !open.peek();
        }}
      >
        Configure and try
      </button>
      <div id={`${id}-bench`} hidden={!open.value}>
        {open.value && <Workbench plugin={plugin} />}
      </div>
      {note !== "" && (
        <p class="problem" role="alert">
          {note}
        </p>
      )}
      <footer>
        <p class="hint">
          {[by, ...limitsOf(plugin), bundled ? "comes with the server" : plugin.file, sizeWords(plugin.size)]
            .filter(Boolean)
            .join(" · ")}
          {" · "}
          <Hash sha256={plugin.sha256} />
        </p>
        {!bundled && <RemoveButton plugin={plugin} />}
      </footer>
    </article>
  );
}

function StateBadge({ plugin }: { plugin: PluginFile }) {
  const quarantined = plugin.state === "quarantined";
  return (
    <span class="states">
      {plugin.always && (
        <span class="state" title="The server's configuration has every request use it (plugins.default).">
          In every request
        </span>
      )}
      <span class="state" data-state={plugin.state}>
        <span class="dot" aria-hidden="true" />
        {quarantined ? "Quarantined" : "Ready"}
      </span>
    </span>
  );
}

function Hash({ sha256 }: { sha256: string }) {
  const copied = useSignal(false);
  const copy = () => {
    void copyText(sha256).then(() => {
      copied.value = true;
      setTimeout(() => {
        copied.value = false;
      }, 2000);
    });
  };
  return (
    <button type="button" class="link" title={`SHA-256 ${sha256}: copy`} onClick={copy}>
      {copied.value ? "copied" : <code>sha256 {sha256.slice(0, 12)}</code>}
    </button>
  );
}
