// SPDX-License-Identifier: MIT
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import { defineConfig, type Plugin, type Rollup } from "vite";

/** KaTeX names each font in three formats. Every browser that can run this page reads the first. */
const oneFontFormat: Plugin = {
  name: "one-font-format",
  enforce: "pre",
  transform: (code, id) =>
    id.endsWith("katex.min.css") ? code.replace(/,url\([^)]*\.(woff|ttf)\) format\("\w+"\)/g, "") : undefined,
};

const smallest = 1024; // bytes of a file that is worth packing

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

const entities = fileURLToPath(new URL("src/text/entities.ts", import.meta.url));

/**
 * What the page needs first is one file, however many of its parts use modules of it as well: many
 * small ones compress worse. Rollup takes along what the named module imports.
 */
const firstLoad = (id: string, { getModuleInfo }: Rollup.ManualChunkMeta) =>
  getModuleInfo(id)?.isEntry ? "first" : undefined;

// The Content Security Policy comes from the host (host/api/routes.go).
export default defineConfig({
  base: "./", // works below any path a reverse proxy may choose
  plugins: [oneFontFormat, packed],
  resolve: { alias: [{ find: /^entities$/, replacement: entities }] },
  build: {
    target: "es2022",
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    rollupOptions: { output: { manualChunks: firstLoad } },
  },
  server: {
    fs: { allow: [".."] }, // the gallery of scripts
    proxy: { "/v1": { target: host, ws: true }, "/props": host },
  },
});
