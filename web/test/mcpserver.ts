// SPDX-License-Identifier: MIT
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { createRequire } from "node:module";
import { type AddressInfo, createServer } from "node:net";

/** MCP's server with one of everything, on a free port. */
export async function startEverything(): Promise<{ url: string; child: ChildProcess }> {
  const probe = createServer().listen(0, "127.0.0.1");
  await once(probe, "listening");
  const { port } = probe.address() as AddressInfo;
  probe.close();
  const main = createRequire(import.meta.url).resolve(
    "@modelcontextprotocol/server-everything/dist/index.js",
  );
  const env = { ...process.env, PORT: String(port) };
  const old = globalThis.crypto === undefined ? ["--experimental-global-webcrypto"] : []; // Node 18
  const child = spawn(process.execPath, [...old, main, "streamableHttp"], {
    env,
    stdio: ["ignore", "ignore", "pipe"],
  });
  process.once("exit", () => child.kill("SIGKILL"));
  let said = "";
  for await (const chunk of child.stderr ?? []) {
    said += chunk;
    if (/listening/i.test(said)) return { url: `http://127.0.0.1:${port}/mcp`, child };
  }
  throw new Error(`MCP's server ended: ${said}`);
}
