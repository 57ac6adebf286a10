// SPDX-License-Identifier: MIT

// Saves, renames, deletes, exports and imports a person's presets.
import { useSignal } from "@preact/signals";
import { useId, useRef } from "preact/hooks";
import { t, tn } from "../../language/language.ts";
import { Presets } from "../../settings/presets.ts";
import { CarefulStorage } from "../../storage.ts";
import { onEscape } from "../escape.ts";
import { saveFile } from "../savefile.ts";
import { useEdit } from "./settingsedit.ts";

/** A person's own presets. */
export const presets = new Presets(new CarefulStorage(() => localStorage));

interface ManageProps {
  now: string | undefined; // one's own preset that the settings are
  last: string;
  said: { value: string };
}

/** Saves, renames, deletes, exports and imports one's own presets. */
export function OwnPresets({ now, last, said }: ManageProps) {
  const edit = useEdit();
  const naming = useSignal<"" | "save" | "rename">("");
  const own = presets.list.value;
  const save = (name: string) => {
    if (!presets.save(name, edit.chat.settings.peek()))
      return t("A built-in preset has this name. Choose another.");
    said.value = t("Saved as “{name}”.", { name: name.trim() });
    return "";
  };
  const rename = (name: string) => {
    if (now === undefined || !presets.rename(now, name))
      return t("There is a preset of this name. Choose another.");
    said.value = t("Renamed to “{name}”.", { name: name.trim() });
    return "";
  };
  const remove = (name: string) => {
    const settings = own.find((preset) => preset.name === name)?.settings;
    presets.remove(name);
    const back = () => settings !== undefined && presets.save(name, settings);
    edit.app.offer.value = {
      text: t("Preset “{name}” is deleted.", { name }),
      action: t("Undo"),
      run: () => void back(),
    };
  };
  if (naming.value !== "") {
    const renaming = naming.value === "rename";
    return (
      <NameForm
        name={renaming ? (now ?? "") : (now ?? last)}
        action={renaming ? t("Rename") : t("Save")}
        taken={renaming ? [] : own.map((preset) => preset.name)}
        submit={renaming ? rename : save}
        close={() => {
          naming.value = "";
        }}
      />
    );
  }
  return (
    <div class="links">
      <Link text={t("Save as preset…")} run={() => (naming.value = "save")} />
      {now !== undefined && <Link text={t("Rename…")} run={() => (naming.value = "rename")} />}
      {now !== undefined && <Link text={t("Delete")} run={() => remove(now)} />}
      {own.length > 0 && <Link text={t("Export presets")} run={download} />}
      <Import said={said} />
    </div>
  );
}

function Link({ text, run }: { text: string; run(): void }) {
  return (
    <button type="button" class="link" onClick={run}>
      {text}
    </button>
  );
}

interface NameProps {
  name: string;
  action: string;
  taken: readonly string[];
  submit(name: string): string; // what is wrong, or nothing
  close(): void;
}

function NameForm({ name, action, taken, submit, close }: NameProps) {
  const id = useId();
  const draft = useSignal(name);
  const problem = useSignal("");
  const overwrites = taken.includes(draft.value.trim());
  return (
    <form
      class="name-form"
      onSubmit={(event) => {
        event.preventDefault();
        if (draft.peek().trim() === "") return;
        problem.value = submit(draft.peek());
        if (problem.peek() === "") close();
      }}
      onKeyDown={onEscape(close)}
    >
      <label for={id} class="hidden">
        {t("Name of the preset")}
      </label>
      <input
        id={id}
        type="text"
        autocomplete="off"
        maxLength={60}
        placeholder={t("Name of the preset")}
        aria-describedby={`${id}-problem`}
        ref={(field) => field?.focus()}
        value={draft}
        onInput={(event) => {
          draft.value = event.currentTarget.value;
        }}
      />
      <button type="submit" class="small-primary">
        {overwrites ? t("Overwrite") : action}
      </button>
      <button type="button" class="link" onClick={close}>
        {t("Cancel")}
      </button>
      <p id={`${id}-problem`} class="wrong" role="alert">
        {problem}
      </p>
    </form>
  );
}

function Import({ said }: { said: { value: string } }) {
  const field = useRef<HTMLInputElement>(null);
  const read = async (file: File) => {
    try {
      const n = presets.import(await file.text());
      said.value = tn(n, "{n} preset is there now.", "{n} presets are there now.");
    } catch (error) {
      said.value = error instanceof Error ? error.message : String(error);
    }
  };
  return (
    <>
      <Link text={t("Import presets…")} run={() => field.current?.click()} />
      <input
        ref={field}
        type="file"
        accept="application/json,.json"
        aria-label={t("File with presets")}
        hidden
        onChange={(event) => {
          const file = event.currentTarget.files?.[0];
          event.currentTarget.value = ""; // so that the same file can be chosen again
          if (file !== undefined) void read(file);
        }}
      />
    </>
  );
}

function download(): void {
  saveFile("penstock-presets.json", "application/json", [presets.export()]);
}
