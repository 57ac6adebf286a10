// SPDX-License-Identifier: MIT

// useApp gives a component the app.
import { createContext } from "preact";
import { useContext } from "preact/hooks";
import type { App } from "../app.ts";

const Context = createContext<App | undefined>(undefined);
export const AppProvider = Context.Provider;

/** The app that a component belongs to. */
export function useApp(): App {
  const app = useContext(Context);
  if (app === undefined) throw new Error("a component stands outside of the app"); // untranslated: a mistake of ours
  return app;
}
