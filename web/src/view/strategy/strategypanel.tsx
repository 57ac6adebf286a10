// SPDX-License-Identifier: MIT

// Chooses how the next answers of the chat are written: word by word, by a program, or several
// side by side.
import { t } from "../../language/language.ts";
import "../../style/strategy.css";
import { useSignal } from "@preact/signals";
import { useId, useMemo } from "preact/hooks";
import type { App } from "../../app.ts";
import type { Plugin } from "../../host/rest.ts";
import { choiceOf } from "../../plugins/pluginchoice.ts";
import { type NamedScript, namedScripts } from "../../scripts/namedscripts.ts";
import { needsConfig } from "../../settings/addstage.ts";
import { rolesOf } from "../../settings/chain.ts";
import type { Column, Settings } from "../../settings/settings.ts";
import {
  programsIn,
  programsOf,
  strategyTitle,
  withNamedScript,
  withStrategy,
} from "../../settings/strategies.ts";
import { sentence } from "../../text/sentence.ts";
import { useApp } from "../appcontext.ts";
import { Beside } from "../settings/otherplugins.tsx";
import { PluginConfig } from "../settings/pluginconfig.tsx";
import { Edit, EditProvider, useEdit } from "../settings/settingsedit.ts";
import { changeStrategy } from "./changestrategy.ts";
import { ColumnsForm } from "./columnsform.tsx";

/** How the next answers of the chat are written. */
export default function StrategyPanel() {
  const app = useApp();
  const chat = app.chats.current.value;
  const edit = useMemo(() => new Edit(app, chat), [app, chat]);
  return (
    <EditProvider value={edit}>
      <div class="settings strategy">
        <Strategies key={chat.id} />
        <OtherPlugins />
      </div>
    </EditProvider>
  );
}

const sideBySide = "/"; // no plugin has this name,
const ofScript = "script:"; // or one that begins like this

function Strategies() {
  const { app, chat, host } = useEdit();
  const wanted = useSignal<string | undefined>(undefined); // a program that lacks something
  const plugins = app.plugins.value;
  const settings = chat.settings.value;
  const several = (settings.columns ?? []).length > 0;
  const chosen = several ? sideBySide : (wanted.value ?? writerOf(settings, plugins));
  const choose = (way: string) => {
    const before = chat.settings.peek();
    if (way === sideBySide) {
      chat.settings.value = { ...before, columns: firstColumns(app) };
      return;
    }
    const script = namedScripts.list.peek().find(({ name }) => way === ofScript + name);
    if (script !== undefined) {
      wanted.value = undefined;
      changeStrategy(app, chat, (before) => withNamedScript(before, script, plugins));
      return;
    }
    const { config = {} } = before.plugins.find(({ name }) => name === way) ?? {};
    const lacks = way !== "" && needsConfig(way, config, host.peek());
    wanted.value = lacks ? way : undefined;
    chat.settings.value = withStrategy(before, way === "" ? undefined : way, plugins, !lacks);
  };
  return (
    <fieldset class="strategies">
      <legend>{t("How the next answers are written")}</legend>
      <Way
        value=""
        title={t("Normal")}
        help={t("One answer, word by word.")}
        chosen={chosen}
        choose={choose}
      />
      {programsOf(plugins).map((plugin) => (
        <Program
          key={plugin.name}
          plugin={plugin}
          chosen={chosen}
          choose={choose}
          lacks={wanted.value === plugin.name && programsIn(settings, plugins).length === 0}
        />
      ))}
      {namedScripts.list.value.map((script) => (
        <NamedWay key={script.name} script={script} chosen={chosen} choose={choose} />
      ))}
      <Way
        value={sideBySide}
        title={t("Side by side")}
        help={t(
          "Up to four answers to each question, with other models, temperatures or plugins, computed together.",
        )}
        chosen={chosen}
        choose={choose}
      />
      {several && (
        <div class="way-form">
          <ColumnsForm />
        </div>
      )}
    </fieldset>
  );
}

interface ProgramProps {
  plugin: Plugin;
  chosen: string;
  choose: (way: string) => void;
  lacks: boolean; // it is wanted, and its configuration lacks something
}

/** A program, with its form where it is chosen. */
function Program({ plugin, chosen, choose, lacks }: ProgramProps) {
  const { name, summary } = plugin;
  const config = useEdit().chat.settings.value.plugins.find((choice) => choice.name === name)?.config;
  return (
    <div>
      <Way
        value={name}
        title={strategyTitle(plugin, config)}
        help={sentence(summary)}
        chosen={chosen}
        choose={choose}
      />
      {chosen === name && (
        <div class="way-form">
          {lacks && <p class="hint">{t("Fill in what is required; then it counts.")}</p>}
          <PluginConfig name={name} />
        </div>
      )}
    </div>
  );
}

/** The program or the script with a name that writes the answers; "": none. */
function writerOf(settings: Settings, plugins: readonly Plugin[]): string {
  const { script } = settings;
  const program = programsIn(settings, plugins).at(-1);
  return program ?? (script?.on && script.name !== undefined ? ofScript + script.name : "");
}

interface WayProps {
  value: string;
  title: string;
  help: string;
  chosen: string;
  choose(value: string): void;
}

function Way({ value, title, help, chosen, choose }: WayProps) {
  const id = useId();
  return (
    <label class="way">
      <input
        type="radio"
        name="strategy"
        value={value}
        checked={chosen === value}
        aria-describedby={id}
        onChange={() => choose(value)}
      />
      <span>
        <strong>{title}</strong>
        <small id={id}>{help}</small>
      </span>
    </label>
  );
}

/** A script under a name, which can be removed. */
function NamedWay({ script, chosen, choose }: Pick<WayProps, "chosen" | "choose"> & { script: NamedScript }) {
  const { app } = useEdit();
  const { name } = script;
  const remove = () => {
    namedScripts.remove(name);
    const run = () => void namedScripts.save(script);
    app.offer.value = { text: t("The strategy “{name}” is removed.", { name }), action: t("Undo"), run };
  };
  return (
    <div class="named">
      <Way
        value={ofScript + name}
        title={name}
        help={t("A script of yours.")}
        chosen={chosen}
        choose={choose}
      />
      <button
        type="button"
        class="link"
        aria-label={t("Remove the strategy “{name}”", { name })}
        onClick={remove}
      >
        {t("Remove")}
      </button>
    </div>
  );
}

/** Two columns to begin with: two models where there are several, else two temperatures. */
function firstColumns(app: App): Column[] {
  const [one, other] = app.models.peek();
  if (one !== undefined && other !== undefined) return [{ model: one }, { model: other }];
  return [{ temperature: 0.2 }, { temperature: 1.2 }];
}

/** The plugins that take part in an answer, and write none themselves. */
function OtherPlugins() {
  const { app, chat } = useEdit();
  const others = app.plugins.value.filter((plugin) => !rolesOf(plugin).program);
  if (others.length === 0) return null;
  const settings = chat.settings.value;
  return (
    <details class="takers">
      <summary>{t("Plugins that take part in each answer")}</summary>
      {others.map((plugin) => (
        <Beside key={plugin.name} plugin={plugin} used={choiceOf(settings, plugin.name) !== undefined} />
      ))}
    </details>
  );
}
