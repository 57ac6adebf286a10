// SPDX-License-Identifier: MIT

// A URL for the bytes of a file while a component shows it.
import { useEffect, useState } from "preact/hooks";
import { useApp } from "../appcontext.ts";

/**
 * A URL of a file's bytes while the component is shown; "" until they are read, undefined if they
 * are not here.
 */
export function useFileURL(file: string): string | undefined {
  const { store } = useApp();
  const [url, setURL] = useState<string | undefined>("");
  useEffect(() => {
    let made = "";
    let shown = true;
    void store.file(file).then((bytes) => {
      if (!shown) return;
      if (bytes !== undefined) made = URL.createObjectURL(bytes);
      setURL(made || undefined);
    });
    return () => {
      shown = false;
      if (made !== "") URL.revokeObjectURL(made);
    };
  }, [file, store]);
  return url;
}
