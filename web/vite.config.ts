// SPDX-License-Identifier: MIT
import { defineConfig } from "vite";

const host = process.env.PENSTOCK_URL ?? "http://127.0.0.1:8080";

// The Content Security Policy comes from the host (host/api/page.go).
export default defineConfig({
  base: "./", // works below any path a reverse proxy may choose
  build: { target: "es2022", assetsInlineLimit: 0, modulePreload: { polyfill: false } },
  server: {
    proxy: { "/v1": { target: host, ws: true }, "/props": host },
  },
});
