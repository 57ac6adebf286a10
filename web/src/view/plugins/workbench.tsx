// SPDX-License-Identifier: MIT

// Where a plugin is configured, switched on and tried.
import { useSignal } from "@preact/signals";
import { addressOf } from "../../address.ts";
import type { Chat } from "../../chats/chat.ts";
import { t, tn } from "../../language/language.ts";
import {
  choiceOf,
  hasRoom,
  isDefault,
  policyTexts,
  withoutPlugin,
  withPlugin,
} from "../../plugins/pluginchoice.ts";
import type { PluginFile } from "../../plugins/pluginfile.ts";
import { startingConfig } from "../../plugins/schema.ts";
import { problemsOf } from "../../plugins/schemacheck.ts";
import { entryOf, hostChain, rolesOf, withStageSwitched } from "../../settings/chain.ts";
import type { Settings } from "../../settings/settings.ts";
import { useApp } from "../appcontext.ts";
import { SchemaForm } from "../form/schemaform.tsx";
import { UseSwitch } from "../useswitch.tsx";
import { PromptPreview } from "./promptpreview.tsx";
import { TryIt } from "./tryplugin.tsx";

/** Where a plugin is configured, switched on, and tried. */
export function Workbench({ plugin }: { plugin: PluginFile }) {
  const { chats, starting, props, plugins } = useApp();
  const { name, schema } = plugin;
  const chat = chats.current.value;
  const inNew = useSignal(starting.get());
  const config = useSignal(
    choiceOf(chat.settings.peek(), name)?.config ??
      choiceOf(inNew.peek(), name)?.config ??
      startingConfig(schema),
  );
  const problems = useSignal(problemsOf(schema, config.peek()));
  const host = () => hostChain(props.peek().defaults, plugins.peek());
  const keepInNew = (settings: Settings) => {
    starting.keep(settings);
    inNew.value = settings;
  };
  const places = [inThisChat(chat), inNewChats(inNew.value, keepInNew)];
  const change = (value: Record<string, unknown>, wrong: string[]) => {
    config.value = value;
    problems.value = wrong;
    if (wrong.length > 0) return;
    for (const { settings, keep } of places)
      if (choiceOf(settings, name) !== undefined) keep(withPlugin(settings, name, value, host()));
  };
  const turn = ({ settings, keep }: Place, on: boolean) =>
    keep(on ? withPlugin(settings, name, config.peek(), host()) : withoutPlugin(settings, name, host()));
  return (
    <div class="workbench">
      <div class="set">
        {isDefault(plugin) && <DefaultSwitch plugin={plugin} />}
        {!plugin.always &&
          !isDefault(plugin) &&
          places.map((place) => (
            <UseSwitch
              key={place.label}
              {...place}
              on={isUsed(place, name)}
              disabled={!isUsed(place, name) && (problems.value.length > 0 || !hasRoom(place.settings))}
              turn={(on) => turn(place, on)}
            />
          ))}
        <PolicyHints plugin={plugin} />
        {choiceOf(chat.settings.value, name) !== undefined && (
          <a class="link" href={addressOf("chat", chat.tree.path.value.length > 0 ? chat.id : undefined)}>
            {t("Open the chat")}
          </a>
        )}
        {problems.value.length > 0 && <Unready problems={problems.value} />}
        <h3>{t("Configuration")}</h3>
        <SchemaForm schema={schema} value={config.value} onChange={change} />
      </div>
      <div class="see">
        {rolesOf(plugin).template && (
          <PromptPreview
            name={name}
            sha256={plugin.sha256}
            config={config.value}
            ready={problems.value.length === 0}
          />
        )}
        <TryIt name={name} config={config.value} ready={problems.value.length === 0} />
      </div>
    </div>
  );
}

function inThisChat({ title, settings }: Chat): Place {
  return {
    label: t("Use in this chat"),
    help:
      title.value === ""
        ? t("The chat that is open; it has no messages yet.")
        : t("“{title}”", { title: title.value }),
    settings: settings.value,
    keep: (changed) => {
      settings.value = changed;
    },
  };
}

function inNewChats(settings: Settings, keep: Place["keep"]): Place {
  return { label: t("Use in new chats"), help: t("Chats that you begin from now on."), settings, keep };
}

/** Switches a plugin off that the host uses by default. */
function DefaultSwitch({ plugin }: { plugin: PluginFile }) {
  const { chats, props, plugins } = useApp();
  const { settings } = chats.current.value;
  const host = () => hostChain(props.peek().defaults, plugins.peek());
  return (
    <UseSwitch
      label={t("Do without it in this chat")}
      help={policyTexts(plugin).join(" ")}
      on={settings.value.off.includes(entryOf(plugin.name))}
      turn={(without) => {
        settings.value = withStageSwitched(settings.peek(), entryOf(plugin.name), !without, host());
      }}
    />
  );
}

/** Says what the operator has set for some requests. */
function PolicyHints({ plugin }: { plugin: PluginFile }) {
  if (isDefault(plugin)) return null;
  if (plugin.always)
    return <p class="hint">{t("Every request to this server uses it; its operator has set that.")}</p>;
  return policyTexts(plugin).map((text) => (
    <p class="hint" key={text}>
      {text}
    </p>
  ));
}

/** Settings that may name the plugin. */
interface Place {
  label: string;
  help: string;
  settings: Settings;
  keep(settings: Settings): void;
}

function isUsed(place: Place, name: string): boolean {
  return choiceOf(place.settings, name) !== undefined;
}

function Unready({ problems }: { problems: readonly string[] }) {
  return (
    <p class="hint" role="status">
      {t("First complete the configuration. {problem}", { problem: problems[0] ?? "" })}
      {problems.length > 1 && ` ${tn(problems.length - 1, "And {n} more.", "And {n} more.")}`}
    </p>
  );
}
