// SPDX-License-Identifier: MIT

// The service worker: it opens the page where the server does not answer. It keeps the page's own
// files, those of one build, and touches nothing else: no answer of the API passes through it.

// TypeScript knows these only where it knows no page.
interface LastingEvent extends Event {
  waitUntil(work: Promise<unknown>): void;
}
interface FetchEvent extends Event {
  readonly request: Request;
  respondWith(answer: Promise<Response>): void;
}
interface Worker {
  readonly registration: ServiceWorkerRegistration;
  readonly clients: { claim(): Promise<void> };
  skipWaiting(): Promise<void>;
  addEventListener(name: "install" | "activate", listener: (event: LastingEvent) => void): void;
  addEventListener(name: "fetch", listener: (event: FetchEvent) => void): void;
}
const worker = self as unknown as Worker;

/** What vite.config.ts puts here. */
declare const built: {
  version: string; // a hash of all names and of what has no hash in its name
  entry: string; // the script that the page of this build names
  kept: string[]; // what is kept from the beginning, besides the page
  used: string[]; // what is kept once it was used
};

const page = "./";
const language = location.search.slice(1); // of the page that asked for this worker
const patience = 5000; // milliseconds for the page, where it is kept
const down = [502, 503, 504]; // said by a proxy before the server

const { scope } = worker.registration;
const ours = `penstock ${scope} `; // another Penstock may have another path of this origin
const cacheName = ours + built.version;
const named = new Set([...built.kept, ...built.used]);
const isHashed = (file: string) => file.startsWith("assets/");
let unreachable = false; // the server was, when the page was asked for last

/** Keeps a file as the server has it now. */
async function keep(cache: Cache, file: string): Promise<Response> {
  const response = await fetch(file, { cache: isHashed(file) ? "default" : "no-cache" });
  if (!response.ok || response.redirected) throw new Error(`${file}: ${response.status}`);
  await cache.put(file, response.clone());
  return response;
}

/** Keeps the files of this build, and no page of another that came between. */
async function install(): Promise<void> {
  const cache = await caches.open(cacheName);
  const texts = built.used.filter((file) => file.startsWith(`assets/${language.toLowerCase()}-`));
  await Promise.all([...built.kept, ...texts].map((file) => keep(cache, file)));
  const html = await (await keep(cache, page)).text();
  if (!html.includes(built.entry)) throw new Error("the page is of another build"); // untranslated: nobody reads it
  await worker.skipWaiting();
}

/** Forgets the files of other builds. */
async function activate(): Promise<void> {
  const names = await caches.keys();
  const old = names.filter((name) => name.startsWith(ours) && name !== cacheName);
  await Promise.all(old.map((name) => caches.delete(name)));
  await worker.clients.claim();
}

async function kept(file: string): Promise<Response | undefined> {
  return (await caches.open(cacheName)).match(file);
}

function late(): Promise<never> {
  return new Promise((_, reject) => setTimeout(() => reject(new Error("no answer")), patience)); // untranslated: nobody reads it
}

/** The page is the server's own wherever that answers: it is never an old one. */
async function openPage(request: Request): Promise<Response> {
  const answer = fetch(request);
  const own = await kept(page);
  if (own === undefined) return answer;
  try {
    const response = await Promise.race([answer, late()]);
    unreachable = down.includes(response.status);
    return unreachable ? own : response;
  } catch {
    unreachable = true;
    return own;
  }
}

/** What has a hash in its name is the same forever. The few others come from the server, too. */
async function openFile(request: Request, file: string): Promise<Response> {
  const own = await kept(file);
  if (own !== undefined && (isHashed(file) || unreachable)) return own;
  try {
    const response = await fetch(request);
    if (isHashed(file) && response.status === 200 && !response.redirected)
      await (await caches.open(cacheName)).put(file, response.clone());
    return response;
  } catch (error) {
    if (own === undefined) throw error;
    return own;
  }
}

worker.addEventListener("install", (event) => event.waitUntil(install()));
worker.addEventListener("activate", (event) => event.waitUntil(activate()));
worker.addEventListener("fetch", (event) => {
  const { request } = event;
  const { origin, pathname, search } = new URL(request.url);
  if (request.method !== "GET" || !(origin + pathname).startsWith(scope)) return;
  const file = (origin + pathname).slice(scope.length);
  if (request.mode === "navigate") {
    if (file === "" || file === "index.html") event.respondWith(openPage(request));
  } else if (search === "" && named.has(file)) event.respondWith(openFile(request, file));
});
