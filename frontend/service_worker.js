/** The service worker: where the browser would say that it cannot reach the server, the page says so. Nothing else is kept. */

const CACHE = "parley-offline";
const PAGE = "/offline.html";
const FILES = [
  PAGE,
  "/favicon.svg",
  "/css/tokens.css",
  "/css/login.css",
  "/js/offline.js",
  "/js/storage.js",
  "/js/strings.js",
  "/js/strings/en.js",
  "/js/strings/zh.js",
];

self.addEventListener("install", (event) => event.waitUntil(keep()));
self.addEventListener("activate", (event) => event.waitUntil(self.clients.claim()));
self.addEventListener("fetch", (event) => {
  const { request } = event;
  const path = request.mode === "navigate" ? PAGE : new URL(request.url).pathname;
  if (request.method === "GET" && FILES.includes(path)) event.respondWith(fetch(request).catch(() => kept(path)));
});

async function keep() {
  await (await caches.open(CACHE)).addAll(FILES);
  await self.skipWaiting();
}

/** @param {string} path */
async function kept(path) {
  return (await caches.match(path)) ?? Response.error();
}
