// SPDX-License-Identifier: MIT
import { fileURLToPath } from "node:url";
import { defineConfig, type Plugin, type Rollup } from "vite";

/** KaTeX names each font in three formats. Every browser that can run this page reads the first. */
const oneFontFormat: Plugin = {
  name: "one-font-format",
  enforce: "pre",
  transform: (code, id) =>
    id.endsWith("katex.min.css") ? code.replace(/,url\([^)]*\.(woff|ttf)\) format\("\w+"\)/g, "") : undefined,
};

const host = process.env.PENSTOCK_URL ?? "http://127.0.0.1:8080";

const entities = fileURLToPath(new URL("src/text/entities.ts", import.meta.url));

/**
 * The modules that the page needs first, however many of its parts use them as well: one file, as
 * many small ones compress worse.
 */
function firstLoad(): (id: string, graph: Rollup.ManualChunkMeta) => string | undefined {
  const first = new Set<string>();
  return (id, { getModuleIds, getModuleInfo }) => {
    const todo = first.size > 0 ? [] : [...getModuleIds()].filter((each) => getModuleInfo(each)?.isEntry);
    for (let next = todo.pop(); next !== undefined; next = todo.pop()) {
      if (first.has(next)) continue;
      first.add(next);
      todo.push(...(getModuleInfo(next)?.importedIds ?? []));
    }
    return first.has(id) ? "first" : undefined;
  };
}

// The Content Security Policy comes from the host (host/api/page.go).
export default defineConfig({
  base: "./", // works below any path a reverse proxy may choose
  plugins: [oneFontFormat],
  resolve: { alias: [{ find: /^entities$/, replacement: entities }] },
  build: {
    target: "es2022",
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    rollupOptions: { output: { manualChunks: firstLoad() } },
  },
  server: {
    proxy: { "/v1": { target: host, ws: true }, "/props": host },
  },
});
