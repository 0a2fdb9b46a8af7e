/** A panel in a tab of its own: drawn by the page that opened it (`render/panel_tabs.js`). */

const page = /** @type {Window | null} */ (window.opener);
if (page && !page.closed) page.postMessage("panel", location.origin);
else location.replace("/"); // the page is gone, or this address was called by hand
