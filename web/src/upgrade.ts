// SPDX-License-Identifier: MIT

// Has the browser keep the page's files, and notices that the server has newer ones.
import { effect } from "@preact/signals";
import type { App } from "./app.ts";
import { language, t } from "./language/language.ts";

const rest = 3000; // milliseconds after which what the page needs itself has come

/**
 * Has the browser keep the page's files, so that it opens without the server, where it lets a page
 * do that: over HTTPS, and at localhost. Offers a reload where the server has another build, as
 * after an upgrade.
 */
export function followBuilds({ base, connection, offer }: Pick<App, "base" | "connection" | "offer">): void {
  const workers = navigator.serviceWorker as ServiceWorkerContainer | undefined; // absent of other pages
  let connected = workers?.controller != null; // the page may be one that was kept
  const look = async () => {
    if (!(await isOld(base))) return;
    offer.value = {
      text: t("The server has a newer version of this page."),
      action: t("Reload"),
      lasts: true,
      run: () => location.reload(),
    };
  };
  const register = () => workers?.register(new URL(`serviceworker.js?${language}`, base));
  effect(() => {
    if (connection.status.value.kind !== "online") return;
    setTimeout(() => void register()?.catch(() => {}), rest); // without it the page needs the server
    if (connected) look().catch(() => {}); // the server has gone again
    connected = true;
  });
}

/** Whether the server's page has another script than this one. */
async function isOld(base: URL): Promise<boolean> {
  const response = await fetch(base, { cache: "no-cache" });
  const script = new URL(import.meta.url).pathname.split("/").at(-1) ?? "";
  return response.ok && !(await response.text()).includes(script);
}
