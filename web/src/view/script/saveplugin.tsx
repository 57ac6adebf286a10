// SPDX-License-Identifier: MIT

// Uploads a script as a plugin.
import "../../style/plugins.css";
import { useSignal } from "@preact/signals";
import { useMemo } from "preact/hooks";
import { scriptType } from "../../host/uploadfile.ts";
import { t, tx } from "../../language/language.ts";
import { AdminDialog } from "../adminkeydialog.tsx";
import { useApp } from "../appcontext.ts";
import { CatalogProvider, catalogOf } from "../plugins/catalogcontext.ts";
import { Uploads } from "../plugins/uploads.tsx";

const names = /^[a-z0-9][a-z0-9_-]{0,63}$/;

/** Uploads the script as NAME.js. Every request can then name it as it names other plugins. */
export default function SavePlugin({ source }: { source: string }) {
  const app = useApp();
  const catalog = useMemo(() => catalogOf(app), [app]);
  const name = useSignal("");
  const tried = useSignal(false);
  const wrong = source.trim() === "" ? t("There is no script to save yet.") : wrongName(name.value);
  return (
    <CatalogProvider value={catalog}>
      <form
        class="save"
        onSubmit={async (event) => {
          event.preventDefault();
          tried.value = true;
          if (wrong !== "") return;
          await catalog.refresh(); // to ask before one is replaced
          catalog.add([new File([source], `${name.peek()}.js`, { type: scriptType })]);
        }}
      >
        <label for="plugin-name">{t("Name of the plugin")}</label>
        <input
          type="text"
          id="plugin-name"
          autocomplete="off"
          aria-invalid={tried.value && wrong !== ""}
          aria-describedby="plugin-name-problem"
          value={name}
          onInput={(event) => {
            name.value = event.currentTarget.value;
          }}
        />
        <button type="submit" class="primary">
          {t("Save")}
        </button>
      </form>
      <p class="wrong" id="plugin-name-problem" role="alert">
        {tried.value ? wrong : ""}
      </p>
      {catalog.admin.closed.value && (
        <p class="hint">
          {tx(
            "Nobody can add plugins over the network here: the server was started without an admin key ({option}). Save the script as a file in its plugin folder.",
            { option: <code>--admin-key</code> },
          )}
        </p>
      )}
      <div class="plugins">
        <Uploads />
      </div>
      <AdminDialog admin={catalog.admin} purpose={t("To change the plugins")} />
    </CatalogProvider>
  );
}

function wrongName(name: string): string {
  if (name === "") return t("Give it a name.");
  return names.test(name)
    ? ""
    : t("A name has small letters, digits, - and _, and begins with a letter or digit.");
}
