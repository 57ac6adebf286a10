// SPDX-License-Identifier: MIT

// One plugin in the list.
import { useSignal } from "@preact/signals";
import { useId } from "preact/hooks";
import { t } from "../../language/language.ts";
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
      <ul class="kinds" aria-label={t("Takes part as")}>
        {kindsOf(plugin).map((kind) => (
          <li key={kind.name} title={kind.title}>
            {kind.name}
          </li>
        ))}
      </ul>
      {error !== "" && (
        <p class="warning">
          {t("The file has changed and cannot be loaded, so the plugin from before stays in use: {error}", {
            error,
          })}
        </p>
      )}
      {plugin.modelErrors.map((failed) => (
        <p class="warning" key={failed.model}>
          {t("It cannot be used with the model {model}: {error}", { ...failed })}
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
        {t("Configure and try")}
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
          {[
            by,
            ...limitsOf(plugin),
            bundled ? t("comes with the server") : plugin.file,
            sizeWords(plugin.size),
          ]
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
        <span
          class="state"
          title={t("The server's configuration has every request use it (plugins.default).")}
        >
          {t("In every request")}
        </span>
      )}
      <span class="state" data-state={plugin.state}>
        <span class="dot" aria-hidden="true" />
        {quarantined ? t("Quarantined") : t("Ready")}
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
    <button type="button" class="link" title={t("SHA-256 {hash}: copy", { hash: sha256 })} onClick={copy}>
      {copied.value ? t("copied") : <code>sha256 {sha256.slice(0, 12)}</code>}
    </button>
  );
}
