// SPDX-License-Identifier: MIT
import assert from "node:assert/strict";
import { test } from "node:test";
import { effect } from "@preact/signals";
import { AdminAccess, type KeyQuestion } from "../host/adminaccess.ts";
import type { UploadOptions } from "../host/pluginroutes.ts";
import { Refused } from "../host/rest.ts";
import { Catalog, type Upload } from "./catalog.ts";
import { type PluginFile, pluginFile } from "./pluginfile.ts";

function described(name: string, version: string, state = "ready"): PluginFile {
  const entry = {
    name,
    state,
    sha256: state === "failed" ? "" : `hash of ${name} ${version}`,
    manifest: { version },
  };
  return pluginFile(entry as Parameters<typeof pluginFile>[0]);
}

/** A host whose admin key is "right"; a file is a text such as "a 1", or is none. */
class Folder {
  readonly plugins = new Map<string, PluginFile>();
  readonly log: string[] = [];
  closed = false;

  async list(): Promise<PluginFile[]> {
    return [...this.plugins.values()];
  }

  async upload(
    file: Blob,
    { key, dryRun, sent }: UploadOptions,
  ): Promise<{ plugin: PluginFile; created: boolean }> {
    this.admit(key);
    sent(0.5);
    sent(1);
    const [name = "", version = ""] = (await file.text()).split(" ");
    if (version === "") throw new Refused(400, { message: "not a module", code: "not_wasm" });
    const plugin = described(name, version);
    const created = !this.plugins.has(name);
    this.log.push(`${dryRun ? "try" : "upload"} ${name} ${version}`);
    if (!dryRun) this.plugins.set(name, plugin);
    return { plugin, created };
  }

  async remove(name: string, key: string): Promise<void> {
    this.admit(key);
    this.plugins.delete(name);
  }

  async reset(name: string, key: string): Promise<void> {
    this.admit(key);
    this.log.push(`reset ${name}`);
  }

  private admit(key: string): void {
    if (this.closed) throw new Refused(403, { message: "the server has none", code: "admin_disabled" });
    if (key !== "right") throw new Refused(401, { message: "this needs the key", code: "invalid_admin_key" });
  }
}

/** A catalog of a folder, whose dialog is answered with these keys one after the other. */
function open(folder: Folder, ...keys: (string | undefined)[]) {
  const kept = { key: "" };
  const admin = {
    get key() {
      return kept.key;
    },
    keep: (key: string) => {
      kept.key = key;
    },
    forget: () => {
      kept.key = "";
    },
  };
  const offered: string[][] = [];
  const catalog = new Catalog(folder, new AdminAccess(admin), (plugins) =>
    offered.push(plugins.map((plugin) => plugin.name)),
  );
  const asked: KeyQuestion[] = [];
  effect(() => {
    const question = catalog.admin.question.value;
    if (question === undefined) return;
    asked.push(question);
    queueMicrotask(() => question.answer(keys.shift(), false));
  });
  return { catalog, asked, offered };
}

function settled(catalog: Catalog, phase: Upload["phase"]): Promise<Upload[]> {
  return new Promise((resolve) => {
    const stop = effect(() => {
      const uploads = [...catalog.uploads.value];
      if (!uploads.every((upload) => upload.phase === phase)) return;
      queueMicrotask(() => {
        stop();
        resolve(uploads);
      });
    });
  });
}

const file = (text: string) => Object.assign(new Blob([text]), { name: `${text}.wasm` }) as File;

test("Catalog.add: asks for the key until it is right, once for several files", async () => {
  const folder = new Folder();
  const { catalog, asked, offered } = open(folder, "wrong", "right");
  await catalog.refresh();
  catalog.add([file("a 1"), file("b 1")]);
  const uploads = await settled(catalog, "done");
  assert.deepEqual(
    asked.map((question) => question.refused),
    [false, true],
  );
  assert.deepEqual(folder.log, ["try a 1", "upload a 1", "try b 1", "upload b 1"]);
  assert.deepEqual(
    uploads.map((upload) => upload.text),
    ["a 1 is there.", "b 1 is there."],
  );
  await catalog.refresh();
  assert.deepEqual(offered.at(-1), ["a", "b"]);
  catalog.dismiss(uploads[0]?.id ?? 0);
  assert.equal(catalog.uploads.value.length, 1);
});

test("Catalog.add: without a key nothing is changed", async () => {
  const folder = new Folder();
  const { catalog } = open(folder, undefined);
  catalog.add([file("a 1")]);
  const [upload] = await settled(catalog, "failed");
  assert.match(upload?.text ?? "", /Nothing was changed/);
  assert.deepEqual(folder.log, []);
});

for (const replace of [true, false]) {
  test(`Catalog.add: asks before it replaces a plugin, and is told ${replace}`, async () => {
    const folder = new Folder();
    folder.plugins.set("a", described("a", "1"));
    const { catalog } = open(folder, "right");
    await catalog.refresh();
    catalog.add([file("a 2")]);
    const [asking] = await settled(catalog, "asking");
    assert.deepEqual([asking?.replaces?.before?.version, asking?.replaces?.after.version], ["1", "2"]);
    assert.deepEqual(folder.log, ["try a 2"]);
    catalog.decide(asking?.id ?? 0, replace);
    await settled(catalog, "done");
    assert.equal(folder.plugins.get("a")?.version, replace ? "2" : "1");
  });
}

test("Catalog.add: the same file again is no change", async () => {
  const folder = new Folder();
  folder.plugins.set("a", described("a", "1"));
  const { catalog } = open(folder, "right");
  await catalog.refresh();
  catalog.add([file("a 1")]);
  const [upload] = await settled(catalog, "done");
  assert.match(upload?.text ?? "", /there already/);
  assert.deepEqual(folder.log, ["try a 1"]);
});

test("Catalog.add: the host's reason, and what to do", async () => {
  const { catalog } = open(new Folder(), "right");
  catalog.add([file("nonsense")]);
  const [upload] = await settled(catalog, "failed");
  assert.match(upload?.text ?? "", /^Not a module\. A plugin is a \.wasm file/);
});

test("Catalog.add: a folder that was dropped is no plugin", async () => {
  const { catalog } = open(new Folder(), "right");
  const unreadable = { arrayBuffer: () => Promise.reject(new DOMException("gone", "NotFoundError")) };
  catalog.add([Object.assign(file("a 1"), { slice: () => unreadable }) as unknown as File]);
  const [upload] = await settled(catalog, "failed");
  assert.match(upload?.text ?? "", /a folder is no plugin/);
});

test("Catalog.remove: a host without an admin key is told apart", async () => {
  const folder = new Folder();
  folder.closed = true;
  const { catalog, asked } = open(folder);
  catalog.remove("a");
  catalog.add([file("a 1")]); // which waits for its turn
  await settled(catalog, "failed");
  assert.equal(catalog.admin.closed.value, true);
  assert.equal(catalog.notes.value.get("a"), "The server has none.");
  assert.deepEqual(asked, []);
});

test("Catalog.refresh: an old list that comes late is not shown", async () => {
  const folder = new Folder();
  const { catalog } = open(folder);
  let answer: (files: PluginFile[]) => void = () => {};
  folder.list = () =>
    new Promise((resolve) => {
      answer = resolve;
    });
  const first = catalog.refresh();
  folder.list = async () => [described("a", "1")];
  await catalog.refresh();
  answer([]);
  await first;
  assert.equal(catalog.files.value?.length, 1);
});

test("Catalog.refresh: files that hold no plugin are listed but not offered; a failure is said", async () => {
  const folder = new Folder();
  folder.plugins.set("a", described("a", "1"));
  folder.plugins.set("x", described("x", "", "failed"));
  const { catalog, offered } = open(folder);
  await catalog.refresh();
  await catalog.refresh(); // nothing has changed
  assert.deepEqual([catalog.files.value?.length, offered], [2, [["a"]]]);
  folder.list = () => Promise.reject(new Refused(404, { message: "not here" }));
  await catalog.refresh();
  assert.deepEqual([catalog.problem.value, catalog.unsupported.value], ["Not here.", true]);
});
