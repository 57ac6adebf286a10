// SPDX-License-Identifier: MIT

// One stage of the chain, and its parameters.
import { useComputed } from "@preact/signals";
import { useId } from "preact/hooks";
import { t } from "../../language/language.ts";
import { problemsOf } from "../../plugins/schemacheck.ts";
import { misplaced, pluginOf, stagesOf, withoutStage, withStageSwitched } from "../../settings/chain.ts";
import { type NativeStage, nativeNamed } from "../../settings/nativestages.ts";
import { numberNamed } from "../../settings/parameters.ts";
import { helpOf, NumberInput, ResetButton, Slider } from "./numberfield.tsx";
import { ParameterField } from "./parameterfield.tsx";
import { PluginConfig } from "./pluginconfig.tsx";
import { useEdit, useSetting } from "./settingsedit.ts";

interface Props {
  name: string;
  place: string; // "stage 2 of 9"
  open: boolean;
  toggle(): void;
  grip: preact.ComponentChildren;
}

/**
 * One stage of the chain: its most important value in its row, and all else below where it is
 * open.
 */
export function StageRow({ name, place, open, toggle, grip }: Props) {
  const edit = useEdit();
  const id = useId();
  const off = useSetting((settings) => settings.off.includes(name));
  const native = nativeNamed(name);
  const plugin = pluginOf(name);
  const label = native?.label ?? plugin ?? name;
  const main = native?.parameters[0];
  const note = useNote(name, native);
  const change = (on: boolean) => edit.change((s) => withStageSwitched(s, name, on, edit.host.peek()));
  return (
    <div class="stage" data-off={off} data-quiet={note.quiet}>
      <div class="stage-row">
        {grip}
        <button type="button" class="stage-name" aria-expanded={open} aria-controls={id} onClick={toggle}>
          <span>
            {label}
            {plugin !== undefined && <em>{t("plugin")}</em>}
          </span>
          <small class={note.bad ? "bad" : ""}>
            {off && note.needs !== true ? t("switched off") : note.text}
          </small>
        </button>
        {main !== undefined && <MainValue parameter={main} stage={label} />}
        <input
          type="checkbox"
          role="switch"
          class="switch"
          hidden={note.neutral === true && !off}
          disabled={off && note.needs === true}
          aria-label={t("Use {name}", { name: label })}
          checked={!off}
          aria-checked={!off}
          onChange={(event) => change(event.currentTarget.checked)}
        />
      </div>
      {open && (
        <div class="stage-body" id={id}>
          {native !== undefined && <NativeBody stage={native} />}
          {plugin !== undefined && <PluginConfig name={plugin} />}
          <div class="stage-foot">
            <span>{place}</span>
            <button
              type="button"
              class="link"
              onClick={() => edit.change((s) => withoutStage(s, name, edit.host.peek()))}
            >
              {t("Remove {what}", { what: label })}
            </button>
          </div>
        </div>
      )}
    </div>
  );
}

function MainValue({ parameter, stage }: { parameter: string; stage: string }) {
  const id = useId();
  const { label } = numberNamed(parameter);
  return (
    <span class="main-value">
      <ResetButton name={parameter} />
      <NumberInput
        name={parameter}
        id={id}
        label={label === stage ? t("{stage} in the chain", { stage }) : `${stage}: ${label}`}
      />
      <span id={`${id}-help`} hidden>
        {helpOf(numberNamed(parameter))}
      </span>
    </span>
  );
}

function NativeBody({ stage }: { stage: NativeStage }) {
  const [main, ...rest] = stage.parameters;
  return (
    <>
      <p>{stage.help}</p>
      {main !== undefined && (
        <div class="setting main-help">
          <Slider name={main} />
          <small>{helpOf(numberNamed(main))}</small>
        </div>
      )}
      {rest.map((parameter) => (
        <ParameterField key={parameter} name={parameter} />
      ))}
    </>
  );
}

interface Note {
  text: string;
  bad?: boolean; // the host would refuse it
  quiet?: boolean; // the stage changes nothing
  neutral?: boolean; // because of its value: there is nothing to switch off
  needs?: boolean; // it cannot be switched on before it is configured
}

/** What there is to say of a stage in its row. */
function useNote(name: string, native: NativeStage | undefined): Note {
  const { chat, host, app } = useEdit();
  const note = useComputed<Note>(() => {
    const settings = chat.settings.value;
    const of = (parameter: string) =>
      Number(settings.sampling[parameter] ?? app.props.value.defaults[parameter]);
    if (native !== undefined) {
      if (of("mirostat") > 0 && !native.underMirostat)
        return { text: t("left out by Mirostat"), quiet: true };
      return native.idle?.(of)
        ? { text: t("no effect at this value"), quiet: true, neutral: true }
        : { text: "" };
    }
    const plugin = host.value.plugins.find((offered) => offered.name === pluginOf(name));
    if (plugin === undefined) return { text: t("not on this server, left out"), bad: true };
    const wrong = misplaced(stagesOf(settings, host.value), settings.off, name, host.value);
    if (wrong !== "") return { text: wrong, bad: true };
    const config = settings.plugins.find((choice) => choice.name === plugin.name)?.config ?? {};
    const problems = problemsOf(plugin.schema ?? {}, config);
    return problems.length > 0
      ? { text: t("fill in what is required first"), bad: true, needs: true }
      : { text: "" };
  });
  return note.value;
}
