// SPDX-License-Identifier: MIT

// The plugins of the host, their uploads, and what is asked about them.
import { type Signal, signal } from "@preact/signals";
import type { AdminAccess } from "../host/adminaccess.ts";
import type { PluginRoutes } from "../host/pluginroutes.ts";
import { KeyNeeded, Refused } from "../host/rest.ts";
import { t } from "../language/language.ts";
import { sentence } from "../text/sentence.ts";
import type { PluginFile } from "./pluginfile.ts";

/** A file on its way to the host. */
export interface Upload {
  readonly id: number;
  readonly name: string; // of the file
  readonly size: number; // bytes
  phase: "waiting" | "sending" | "loading" | "asking" | "done" | "failed";
  share: number; // of the file that is sent, 0 to 1
  text: string; // how it ended
  replaces?: { before: PluginFile | undefined; after: PluginFile }; // of phase asking
}

type Routes = Pick<PluginRoutes, "list" | "upload" | "remove" | "reset">;

/** The host's plugin folder as the page shows it, and what a person can do with it. */
export class Catalog {
  readonly files: Signal<readonly PluginFile[] | undefined> = signal(undefined); // undefined: not known yet
  readonly problem = signal(""); // why the list cannot be had
  readonly unsupported = signal(false); // the host runs no plugins
  readonly uploads: Signal<readonly Upload[]> = signal([]);
  readonly notes: Signal<ReadonlyMap<string, string>> = signal(new Map()); // by plugin: why something did not work
  private readonly answers = new Map<number, (replace: boolean) => void>(); // by upload
  private last = Promise.resolve(); // of what waits for its turn
  private shown = ""; // the list as it was read
  private asked = 0; // looks at the folder
  private known = 0; // the look that the list is from
  private count = 0; // uploads

  /** offer gets the plugins that a request can use, whenever they change. */
  constructor(
    private readonly routes: Routes,
    readonly admin: AdminAccess,
    private readonly offer: (plugins: readonly PluginFile[]) => void,
  ) {}

  /** Looks at the folder. */
  async refresh(): Promise<void> {
    const turn = ++this.asked;
    try {
      const files = await this.routes.list();
      if (turn < this.known) return; // a later look was faster
      this.known = turn;
      this.problem.value = "";
      const now = JSON.stringify(files);
      if (now === this.shown) return;
      this.shown = now;
      this.files.value = files;
      this.offer(files.filter((file) => file.state !== "failed"));
    } catch (error) {
      this.unsupported.value = error instanceof Refused && error.status === 404;
      this.problem.value = wordsOf(error);
    }
  }

  /** Uploads files one after the other. */
  add(files: readonly File[]): void {
    for (const file of files) {
      const id = ++this.count;
      const upload: Upload = { id, name: file.name, size: file.size, phase: "waiting", share: 0, text: "" };
      this.uploads.value = [...this.uploads.peek(), upload];
      this.inTurn(() => this.send(id, file));
    }
  }

  /** Answers whether an upload may replace a plugin. */
  decide(id: number, replace: boolean): void {
    this.answers.get(id)?.(replace);
    this.answers.delete(id);
  }

  /** Takes an upload that has ended off the list. */
  dismiss(id: number): void {
    this.uploads.value = this.uploads.peek().filter((upload) => upload.id !== id);
  }

  remove(name: string): void {
    this.change(name, (key) => this.routes.remove(name, key));
  }

  /** Ends a plugin's quarantine. */
  reset(name: string): void {
    this.change(name, (key) => this.routes.reset(name, key));
  }

  private change(name: string, act: (key: string) => Promise<void>): void {
    this.note(name, "");
    this.inTurn(async () => {
      try {
        await this.admin.act(act);
      } catch (error) {
        this.note(name, wordsOf(error));
      }
      await this.refresh();
    });
  }

  private inTurn(act: () => Promise<void>): void {
    this.last = this.last.then(act);
  }

  /** Asks the host what an upload would do, and then a person, before it replaces anything. */
  private async send(id: number, file: File): Promise<void> {
    const attempt = (dryRun: boolean) =>
      this.admin.act((key) => {
        this.progress(id, { phase: "sending", share: 0 });
        const sent = (share: number) =>
          this.progress(id, { phase: share < 1 ? "sending" : "loading", share });
        return this.routes.upload(file, { key, dryRun, sent, signal: new AbortController().signal });
      });
    try {
      if (!(await readable(file))) throw new Error(t("It cannot be read; a folder is no plugin."));
      const { plugin, created } = await attempt(true);
      const before = this.files.peek()?.find((known) => known.name === plugin.name && known.sha256 !== "");
      if (before?.sha256 === plugin.sha256 && before.error === "") {
        const same = t("{plugin} is there already: the same file, byte for byte.", {
          plugin: titleOf(plugin),
        });
        this.end(id, "done", same);
        return;
      }
      if (!created && !(await this.mayReplace(id, before, plugin))) {
        this.end(id, "done", t("Not uploaded: {plugin} stays as it was.", { plugin: plugin.name }));
        return;
      }
      const done = await attempt(false);
      const uploaded = { plugin: titleOf(done.plugin) };
      const text = done.created
        ? t("{plugin} is there.", uploaded)
        : t("{plugin} has taken its predecessor's place.", uploaded);
      this.end(id, "done", text);
    } catch (error) {
      this.end(id, "failed", wordsOf(error));
    }
    await this.refresh();
  }

  private mayReplace(id: number, before: PluginFile | undefined, after: PluginFile): Promise<boolean> {
    this.progress(id, { phase: "asking", replaces: { before, after } });
    return new Promise((resolve) => this.answers.set(id, resolve));
  }

  private progress(id: number, change: Partial<Upload>): void {
    this.uploads.value = this.uploads
      .peek()
      .map((upload) => (upload.id === id ? { ...upload, ...change } : upload));
  }

  private end(id: number, phase: "done" | "failed", text: string): void {
    this.progress(id, { phase, text });
  }

  private note(name: string, text: string): void {
    const notes = new Map(this.notes.peek());
    if (text === "") notes.delete(name);
    else notes.set(name, text);
    this.notes.value = notes;
  }
}

/** A folder can be dropped like a file, and cannot be read. */
function readable(file: Blob): Promise<boolean> {
  return file
    .slice(0, 1)
    .arrayBuffer()
    .then(
      () => true,
      () => false,
    );
}

export function titleOf({ name, version }: Pick<PluginFile, "name" | "version">): string {
  return version === "" ? name : `${name} ${version}`;
}

/** An error in words: the host's, and what can be done where they do not say it. */
function wordsOf(error: unknown): string {
  if (error instanceof KeyNeeded) return t("The server wants a key. Reload the page to enter it.");
  if (!(error instanceof Error)) return String(error);
  const help = error instanceof Refused ? (remedies[String(error.error.code)] ?? "") : "";
  return [sentence(error.message), help].filter(Boolean).join(" ");
}

const smaller = t("Build it smaller, for example without debug information.");
const remedies: Record<string, string> = {
  not_wasm: t("A plugin is a .wasm file; docs/plugins/go.md and docs/plugins/rust.md tell how to build one."),
  plugin_too_large: smaller,
  body_too_large: smaller,
  plugin_in_use: t("Its operator can take it out of plugins.default and plugins.policy_file."),
  busy: t("Try again in a moment."),
};
