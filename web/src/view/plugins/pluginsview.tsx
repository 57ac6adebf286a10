// SPDX-License-Identifier: MIT

// The plugins view: list, uploads and workbench.
import { t } from "../../language/language.ts";
import "../../style/plugins.css";
import "../../style/workbench.css";
import { useSignal } from "@preact/signals";
import { useEffect, useMemo } from "preact/hooks";
import type { Catalog } from "../../plugins/catalog.ts";
import { AdminDialog } from "../adminkeydialog.tsx";
import { useApp } from "../appcontext.ts";
import { BrokenFiles } from "./brokenfiles.tsx";
import { CatalogProvider, catalogOf } from "./catalogcontext.ts";
import { ClosedFolder, EmptyFolder, NoPlugins } from "./emptyfolder.tsx";
import { PluginCard } from "./plugincard.tsx";
import { droppedFiles, UploadButton, Uploads } from "./uploads.tsx";

const lookEvery = 2000; // milliseconds; the host itself looks into its folder once a second

/** The plugins of the host: what they are and do, how they are set, and how they come and go. */
export default function PluginsView() {
  const app = useApp();
  const catalog = useMemo(() => catalogOf(app), [app]);
  useEffect(() => {
    const look = () => {
      if (document.visibilityState === "visible") void catalog.refresh();
    };
    look();
    const clock = setInterval(look, lookEvery);
    document.addEventListener("visibilitychange", look);
    return () => {
      clearInterval(clock);
      document.removeEventListener("visibilitychange", look);
    };
  }, [catalog]);
  return (
    <CatalogProvider value={catalog}>
      <Folder catalog={catalog} />
      <AdminDialog admin={catalog.admin} purpose={t("To change the plugins")} />
    </CatalogProvider>
  );
}

function Folder({ catalog }: { catalog: Catalog }) {
  const over = useSignal(false);
  const { files, unsupported } = catalog;
  const loaded = files.value?.filter((file) => file.state !== "failed") ?? [];
  const broken = files.value?.filter((file) => file.state === "failed") ?? [];
  return (
    <main
      id="scroller"
      class="plugins"
      aria-label={t("Plugins")}
      data-over={over.value}
      onDragOver={(event) => {
        if (!event.dataTransfer?.types.includes("Files")) return;
        event.preventDefault();
        over.value = true;
      }}
      onDragLeave={(event) => {
        if (!event.currentTarget.contains(event.relatedTarget as Node | null)) over.value = false;
      }}
      onDrop={(event) => {
        event.preventDefault();
        over.value = false;
        catalog.add(droppedFiles(event.dataTransfer));
      }}
    >
      <div class="plugins-page">
        <header class="plugins-head">
          <p class="hint">
            {t("Sandboxed WebAssembly modules that write the prompt, choose tokens and end answers.")}
          </p>
          {!unsupported.value && <UploadButton />}
        </header>
        {catalog.admin.closed.value && <ClosedFolder />}
        <Uploads />
        {catalog.problem.value !== "" && !unsupported.value && (
          <p class="notice" role="alert">
            {catalog.problem.value}
          </p>
        )}
        {unsupported.value && <NoPlugins />}
        {files.value === undefined && catalog.problem.value === "" && <p role="status">{t("Loading…")}</p>}
        {files.value?.length === 0 && <EmptyFolder />}
        <ul class="plugin-list">
          {loaded.map((plugin) => (
            <li key={plugin.name}>
              <PluginCard plugin={plugin} />
            </li>
          ))}
        </ul>
        {broken.length > 0 && <BrokenFiles files={broken} />}
      </div>
      <p class="drop-here" aria-hidden="true">
        {t("Drop the .wasm files here")}
      </p>
    </main>
  );
}
