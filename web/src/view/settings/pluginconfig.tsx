// SPDX-License-Identifier: MIT

// The configuration of a plugin in a chat, and what its fault does.
import { useId } from "preact/hooks";
import { t } from "../../language/language.ts";
import { withPluginConfig } from "../../settings/addstage.ts";
import { rolesOf } from "../../settings/chain.ts";
import type { PluginChoice } from "../../settings/settings.ts";
import { sentence } from "../../text/sentence.ts";
import { SchemaForm } from "../form/schemaform.tsx";
import { useEdit, useSetting } from "./settingsedit.ts";

/** What a plugin of a chat is told, and what happens when it fails. */
export function PluginConfig({ name }: { name: string }) {
  const edit = useEdit();
  const id = useId();
  const plugin = edit.app.plugins.value.find((offered) => offered.name === name);
  const choice = useSetting(({ plugins }) => plugins.find((chosen) => chosen.name === name)) ?? { name };
  const change = (next: PluginChoice) =>
    edit.change((settings) => withPluginConfig(settings, next, edit.host.peek()));
  if (plugin === undefined) return <p>{t("This server has no such plugin. It is not sent.")}</p>;
  const { stage } = rolesOf(plugin);
  return (
    <>
      {plugin.summary !== "" && <p>{sentence(plugin.summary)}</p>}
      {hasFields(plugin.schema) && (
        <SchemaForm
          schema={plugin.schema}
          value={choice.config ?? {}}
          onChange={(config) => change({ ...choice, config })}
        />
      )}
      {stage && (
        <div class="setting">
          <label for={id}>{t("If it fails")}</label>
          <select
            id={id}
            value={choice.on_error ?? "fail"}
            onChange={(event) => {
              const { on_error: _, ...rest } = choice;
              change(event.currentTarget.value === "skip" ? { ...rest, on_error: "skip" } : rest);
            }}
          >
            <option value="fail">{t("end the answer")}</option>
            <option value="skip">{t("go on without it")}</option>
          </select>
        </div>
      )}
    </>
  );
}

function hasFields(schema: unknown): boolean {
  if (typeof schema !== "object" || schema === null) return false;
  const { properties, additionalProperties } = schema as Record<string, unknown>;
  return additionalProperties !== false || Object.keys(properties ?? {}).length > 0;
}
