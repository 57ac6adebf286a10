// SPDX-License-Identifier: MIT
import { fileURLToPath } from "node:url";
import { defineConfig, type Plugin } from "vite";

/** KaTeX names each font in three formats. Every browser that can run this page reads the first. */
const oneFontFormat: Plugin = {
  name: "one-font-format",
  enforce: "pre",
  transform: (code, id) =>
    id.endsWith("katex.min.css") ? code.replace(/,url\([^)]*\.(woff|ttf)\) format\("\w+"\)/g, "") : undefined,
};

const host = process.env.PENSTOCK_URL ?? "http://127.0.0.1:8080";

const entities = fileURLToPath(new URL("src/text/entities.ts", import.meta.url));

// The Content Security Policy comes from the host (host/api/page.go).
export default defineConfig({
  base: "./", // works below any path a reverse proxy may choose
  plugins: [oneFontFormat],
  resolve: { alias: [{ find: /^entities$/, replacement: entities }] },
  build: { target: "es2022", assetsInlineLimit: 0, modulePreload: { polyfill: false } },
  server: {
    proxy: { "/v1": { target: host, ws: true }, "/props": host },
  },
});
