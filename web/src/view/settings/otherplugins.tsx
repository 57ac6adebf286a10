// SPDX-License-Identifier: MIT

// The plugins of a chat that are no stages of its chain.
import { useComputed, useSignal } from "@preact/signals";
import type { Plugin } from "../../host/rest.ts";
import { t, tx } from "../../language/language.ts";
import { kindsOf } from "../../plugins/pluginfile.ts";
import { needsConfig } from "../../settings/addstage.ts";
import { entryOf, rolesOf, stagesOf, withStageSwitched } from "../../settings/chain.ts";
import { sentence } from "../../text/sentence.ts";
import { FoldingPart } from "./foldingpart.tsx";
import { PluginConfig } from "./pluginconfig.tsx";
import { useEdit } from "./settingsedit.ts";

/**
 * The plugins that are no stages: programs, chat templates and stop rules. And those that the
 * server no longer has.
 */
export function OtherPluginsPart() {
  const { app, chat, host } = useEdit();
  const plugins = useComputed(() => app.plugins.value.filter((plugin) => !rolesOf(plugin).stage)).value;
  const gone = useComputed(() => {
    const settings = chat.settings.value;
    const known = new Set([
      ...app.plugins.value.map(({ name }) => entryOf(name)),
      ...stagesOf(settings, host.value),
    ]);
    return settings.plugins.filter(({ name }) => !known.has(entryOf(name))).map(({ name }) => name);
  }).value;
  const used = useComputed(() => {
    const { plugins: chosen, off } = chat.settings.value;
    return plugins.filter(({ name }) => chosen.some((c) => c.name === name) && !off.includes(entryOf(name)));
  }).value;
  if (plugins.length === 0 && gone.length === 0) return null;
  const now = used.map(({ name }) => name).join(", ");
  return (
    <FoldingPart
      title={t("Programs, templates, stop rules")}
      now={now}
      begin={gone.length > 0 ? "open" : "closed"}
    >
      <p class="lead">
        {t(
          "Plugins that write the whole answer or the prompt, or that end the answer. They have no place in the chain.",
        )}
      </p>
      {plugins.map((plugin) => (
        <Beside key={plugin.name} plugin={plugin} used={used.includes(plugin)} />
      ))}
      {gone.map((name) => (
        <Gone key={name} name={name} />
      ))}
    </FoldingPart>
  );
}

/** A switch for a plugin, and below it its form. */
export function Beside({ plugin, used }: { plugin: Plugin; used: boolean }) {
  const edit = useEdit();
  const { name, summary } = plugin;
  const asked = useSignal(false); // it is to be switched on once it has what it requires
  const change = (on: boolean) =>
    edit.change((settings) => {
      const known = settings.plugins.some((choice) => choice.name === name);
      const plugins = known ? settings.plugins : [...settings.plugins, { name }];
      const { config = {} } = plugins.find((choice) => choice.name === name) ?? {};
      const lacks = needsConfig(name, config, edit.host.peek());
      asked.value = on && lacks;
      return withStageSwitched({ ...settings, plugins }, entryOf(name), on && !lacks, edit.host.peek());
    });
  const shown = used || asked.value;
  return (
    <div class="stage" data-off={!used}>
      <div class="stage-row beside">
        <div class="stage-name">
          <span>
            {name}
            {kindsOf(plugin).map((kind) => (
              <em key={kind.name} title={kind.title}>
                {kind.name}
              </em>
            ))}
          </span>
          {asked.value && !used && <small class="bad">{t("fill in what is required first")}</small>}
          {!shown && summary !== "" && <small>{sentence(summary)}</small>}
        </div>
        <input
          type="checkbox"
          role="switch"
          class="switch"
          aria-label={t("Use {name}", { name })}
          checked={used}
          aria-checked={used}
          onChange={(event) => change(event.currentTarget.checked)}
        />
      </div>
      {shown && (
        <div class="stage-body">
          <PluginConfig name={name} />
        </div>
      )}
    </div>
  );
}

function Gone({ name }: { name: string }) {
  const edit = useEdit();
  return (
    <p class="no-plugin">
      {tx("This server has no plugin {name}, so it is left out.", { name: <strong>{name}</strong> })}{" "}
      <button
        type="button"
        class="link"
        onClick={() =>
          edit.change((settings) => ({
            ...settings,
            plugins: settings.plugins.filter((choice) => choice.name !== name),
          }))
        }
      >
        {t("Remove {what}", { what: name })}
      </button>
    </p>
  );
}
