// SPDX-License-Identifier: MIT

// Uploads a file and tells how much of it is sent.
import { t } from "../language/language.ts";
import { authorization, parsedJSON, refusalOf } from "./rest.ts";

/** The type of a plugin's script. */
export const scriptType = "text/javascript";

/**
 * Sends a file as it is and returns what the answer holds, with its status. sent gets the share
 * that is sent, 0 to 1.
 */
export function uploadFile(
  url: URL,
  file: Blob,
  { key, sent, signal }: { key: string; sent(share: number): void; signal: AbortSignal },
): Promise<{ status: number; body: unknown }> {
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest(); // fetch does not tell how much is sent
    request.open("POST", url);
    request.setRequestHeader("Content-Type", file.type === scriptType ? scriptType : "application/wasm");
    for (const [name, value] of Object.entries(authorization(key))) request.setRequestHeader(name, value);
    request.upload.addEventListener("progress", (event) => {
      if (event.lengthComputable && event.total > 0) sent(event.loaded / event.total);
    });
    request.addEventListener("load", () => {
      const { status, responseText } = request;
      if (status < 200 || status >= 300) return reject(refusalOf(status, responseText));
      try {
        resolve({ status, body: parsedJSON(responseText) });
      } catch (error) {
        reject(error);
      }
    });
    // A host that takes no file of this size may close the connection while the file is still
    // being sent.
    request.addEventListener("error", () => {
      reject(new Error(t("the connection broke off; the file may be larger than the server takes")));
    });
    request.addEventListener("abort", () => reject(signal.reason));
    signal.addEventListener("abort", () => request.abort(), { once: true });
    request.send(file);
  });
}
