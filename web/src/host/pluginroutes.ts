// SPDX-License-Identifier: MIT

// The HTTP routes of the plugin folder: list, upload, remove, preview.
import { t } from "../language/language.ts";
import { type PluginFile, pluginFile } from "../plugins/pluginfile.ts";
import { type Prompt, readPrompt } from "../plugins/prompt.ts";
import type { GenerateRequest } from "./protocol.ts";
import { isFile, KeyNeeded, listEntries, type Rest } from "./rest.ts";
import { scriptType, uploadFile } from "./uploadfile.ts";

export interface UploadOptions {
  key: string; // the admin key
  dryRun: boolean; // only say what the upload would do
  signal: AbortSignal;
  sent(share: number): void; // 0 to 1
}

/**
 * The routes of the host's plugin folder. What changes it needs the admin key. Errors are those of
 * Rest.call.
 */
export class PluginRoutes {
  constructor(private readonly rest: Rest) {}

  /** All files of the folder, also those that could not be loaded. */
  async list(): Promise<PluginFile[]> {
    return listEntries(await this.rest.call("v1/plugins"), "name")
      .filter(isFile)
      .map(pluginFile);
  }

  /**
   * Puts a module or a script into the folder, or says what that would do. created: no plugin had
   * its name, which a module tells itself, and a script has from its file.
   */
  async upload(
    file: File,
    { dryRun, ...options }: UploadOptions,
  ): Promise<{ plugin: PluginFile; created: boolean }> {
    const url = this.rest.address("v1/plugins");
    if (dryRun) url.searchParams.set("dry_run", "true");
    if (file.type === scriptType) url.searchParams.set("name", file.name.replace(/\.js$/, ""));
    const { status, body } = await uploadFile(url, file, options);
    const [plugin] = listEntries([body], "name").map(pluginFile);
    if (plugin === undefined) throw new Error(t("the server's answer describes no plugin"));
    return { plugin, created: status === 201 };
  }

  async remove(name: string, key: string): Promise<void> {
    await this.rest.call(`v1/plugins/${encodeURIComponent(name)}`, { method: "DELETE", key });
  }

  /** Ends the quarantines of a plugin and forgets its faults. */
  async reset(name: string, key: string): Promise<void> {
    await this.rest.call(`v1/plugins/${encodeURIComponent(name)}/reset`, { method: "POST", key });
  }

  /** The prompt that a request becomes. */
  async prompt(request: GenerateRequest, signal: AbortSignal): Promise<Prompt> {
    const body = { ...request, return_tokens: true };
    try {
      return readPrompt(await this.rest.call("apply-template", { method: "POST", body, signal }));
    } catch (error) {
      if (error instanceof KeyNeeded)
        throw new Error(t("the server wants a key; reload the page to enter it"));
      throw error;
    }
  }
}
