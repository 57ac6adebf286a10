// SPDX-License-Identifier: MIT
import { defineConfig, type Plugin } from "vite";

// The page needs nothing but its own files and its own host. Text that a model writes is never a reason
// to load something from elsewhere, so images and the like are refused here too.
const policy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self'",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
].join("; ");

// Only for the built page: Vite's development server injects inline styles.
const contentSecurityPolicy: Plugin = {
  name: "penstock-content-security-policy",
  apply: "build",
  transformIndexHtml: () => [
    {
      tag: "meta",
      attrs: { "http-equiv": "Content-Security-Policy", content: policy },
      injectTo: "head-prepend",
    },
  ],
};

export default defineConfig({
  base: "./", // works below any path a reverse proxy may choose
  plugins: [contentSecurityPolicy],
  build: { target: "es2022", assetsInlineLimit: 0, modulePreload: { polyfill: false } },
  server: {
    proxy: { "/v1": { target: process.env.PENSTOCK_URL ?? "http://127.0.0.1:8080", ws: true } },
  },
});
