// SPDX-License-Identifier: MIT

// useCatalog gives a component the plugins of the view; catalogOf makes them.
import { createContext } from "preact";
import { useContext } from "preact/hooks";
import type { App } from "../../app.ts";
import { PluginRoutes } from "../../host/pluginroutes.ts";
import { Catalog } from "../../plugins/catalog.ts";
import { adminAccess } from "../adminkeydialog.tsx";

const Context = createContext<Catalog | undefined>(undefined);
export const CatalogProvider = Context.Provider;

export function useCatalog(): Catalog {
  const catalog = useContext(Context);
  if (catalog === undefined) throw new Error("a component stands outside of the plugins view"); // untranslated: for programmers
  return catalog;
}

/** The plugin folder of the host. What a request can use of it is the app's to know. */
export function catalogOf(app: App): Catalog {
  return new Catalog(new PluginRoutes(app.rest), adminAccess(), (plugins) => {
    app.plugins.value = plugins;
  });
}
