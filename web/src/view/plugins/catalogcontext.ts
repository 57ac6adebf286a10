// SPDX-License-Identifier: MIT

// useCatalog gives a component the plugins of the view.
import { createContext } from "preact";
import { useContext } from "preact/hooks";
import type { Catalog } from "../../plugins/catalog.ts";

const Context = createContext<Catalog | undefined>(undefined);
export const CatalogProvider = Context.Provider;

export function useCatalog(): Catalog {
  const catalog = useContext(Context);
  if (catalog === undefined) throw new Error("a component stands outside of the plugins view");
  return catalog;
}
