// SPDX-License-Identifier: MIT

// A script as a part of an address, to be sent to somebody.
import { base64url } from "../host/rest.ts";
import { cleanSettings, type Script } from "../settings/settings.ts";

const longest = 16_000; // characters: browsers and mail programs cut longer links

/** The script as it stands in a link; undefined where that would be too long. */
export function shared({ name, source, config }: Script): string | undefined {
  const text = base64url(JSON.stringify({ ...(name !== undefined && { name }), source, config }));
  return text.length <= longest ? text : undefined;
}

/** The script of a link, which anybody may have written: it is off. undefined: it holds none. */
export function readShared(text: string): Script | undefined {
  if (text.length > longest) return undefined;
  try {
    const bytes = atob(text.replaceAll("-", "+").replaceAll("_", "/"));
    const json = new TextDecoder("utf-8", { fatal: true }).decode(
      Uint8Array.from(bytes, (byte) => byte.charCodeAt(0)),
    );
    return cleanSettings({ script: { ...JSON.parse(json), imported: true } }).script;
  } catch {
    return undefined;
  }
}
