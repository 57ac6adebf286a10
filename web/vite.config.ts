// SPDX-License-Identifier: MIT
import { createHash } from "node:crypto";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import { defineConfig, type Plugin, type Rollup, transformWithEsbuild } from "vite";
import { languages } from "./src/language/language.ts";

/** KaTeX names each font in three formats. Every browser that can run this page reads the first. */
const oneFontFormat: Plugin = {
  name: "one-font-format",
  enforce: "pre",
  transform: (code, id) =>
    id.endsWith("katex.min.css") ? code.replace(/,url\([^)]*\.(woff|ttf)\) format\("\w+"\)/g, "") : undefined,
};

const smallest = 1024; // bytes of a file that is worth packing

// What few visits need of the page's files: the service worker keeps it once it was used. Of the
// tables of texts it keeps its reader's from the beginning.
const rare = new RegExp(`KaTeX_|\\.worker-|/(${Object.keys(languages).join("|")})-`, "i");

/** Makes the service worker, which knows the files of this build by their names. */
const serviceWorker: Plugin = {
  name: "service-worker",
  apply: "build",
  enforce: "post", // when the files are known
  async generateBundle(_, bundle) {
    const names = Object.keys(bundle).filter((name) => name !== "index.html");
    const entry = Object.values(bundle).find((file) => file.type === "chunk" && file.isEntry)?.fileName;
    const shipped = readdirSync(ours("public")).filter((name) => !name.startsWith("."));
    const unhashed = [ours("index.html"), ...shipped.map((name) => join(ours("public"), name))];
    const contents = unhashed.map((path) => readFileSync(path));
    const built = {
      version: hashOf([...names, ...contents]),
      entry,
      kept: [...shipped, ...names.filter((name) => !rare.test(name))],
      used: names.filter((name) => rare.test(name)),
    };
    const source = readFileSync(ours("src/serviceworker.ts"), "utf8");
    const options = { minify: true, format: "iife", define: { built: JSON.stringify(built) } } as const;
    const { code } = await transformWithEsbuild(source, "serviceworker.ts", options);
    this.emitFile({ type: "asset", fileName: "serviceworker.js", source: code });
  },
};

function hashOf(parts: readonly (string | Buffer)[]): string {
  const hash = createHash("sha256");
  for (const part of parts) hash.update(part).update("\n");
  return hash.digest("hex").slice(0, 16);
}

/** Packs what compresses, for the host to send to browsers that take it (host/api/compress.go). */
const packed: Plugin = {
  name: "packed",
  apply: "build",
  writeBundle: ({ dir = "" }, bundle) => {
    for (const [name, file] of Object.entries(bundle)) {
      const content = file.type === "chunk" ? file.code : file.source;
      if (/\.(js|css|svg)$/.test(name) && Buffer.byteLength(content) >= smallest)
        writeFileSync(join(dir, `${name}.gz`), gzipSync(content, { level: 9 }));
    }
  },
};

const host = process.env.PENSTOCK_URL ?? "http://127.0.0.1:8080";

const ours = (path: string) => fileURLToPath(new URL(path, import.meta.url));

/**
 * What the page needs first is one file, however many of its parts use modules of it as well: many
 * small ones compress worse. Rollup takes along what the named module imports.
 */
const firstLoad = (id: string, { getModuleInfo }: Rollup.ManualChunkMeta) => {
  if (id === ours("src/language/language.ts")) return texts;
  return getModuleInfo(id)?.isEntry ? "first" : undefined;
};

const texts = "language"; // the chunk of that name

/**
 * Has the module of the reader's language begin by itself. As a part of the others it would ask for
 * its table of texts only when all of them are there.
 */
const textsAtOnce: Plugin = {
  name: "texts-at-once",
  transformIndexHtml: {
    order: "post",
    handler: (_, { bundle = {} }) =>
      Object.values(bundle)
        .filter((file) => file.type === "chunk" && file.name === texts)
        .map(({ fileName }) => ({
          tag: "script",
          injectTo: "head" as const,
          attrs: { type: "module", async: true, crossorigin: true, src: `./${fileName}` },
        })),
  },
};

// The Content Security Policy comes from the host (host/api/routes.go).
export default defineConfig({
  base: "./", // works below any path a reverse proxy may choose
  plugins: [oneFontFormat, textsAtOnce, serviceWorker, packed],
  resolve: {
    alias: [
      { find: /^entities$/, replacement: ours("src/text/entities.ts") },
      { find: /^ajv(-formats)?$/, replacement: ours("src/tools/novalidator.ts") },
    ],
  },
  build: {
    target: "es2022",
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    rollupOptions: { output: { manualChunks: firstLoad } },
  },
  worker: { format: "es" }, // whose texts are in the reader's language, which is waited for
  server: {
    fs: { allow: [".."] }, // the gallery of scripts
    proxy: { "/v1": { target: host, ws: true }, "/props": host },
  },
});
