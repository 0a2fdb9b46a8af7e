/** Line icons, 24 × 24, drawn with the colour of the text beside them. */

import { h } from "./dom.js";

export const PATHS = {
  menu: ["M4 7h16", "M4 12h16", "M4 17h16"],
  plus: ["M12 5v14", "M5 12h14"],
  send: ["M12 19V5", "M6 11l6-6 6 6"],
  stop: ["M8 8h8v8H8z"],
  close: ["M6 6l12 12", "M18 6L6 18"],
  more: ["M5 12h.01", "M12 12h.01", "M19 12h.01"],
  retry: ["M4 12a8 8 0 1 1 2.3 5.6", "M4 19v-5h5"],
  hook: ["M15.5 6a2 2 0 1 0 0-.01", "M13.5 8v6.5a4.25 4.25 0 0 1-8.5 0V12l3 2.5"],
  tool: ["M14.5 6.5a4 4 0 0 0-5.2 5.2L4 17v3h3l5.3-5.3a4 4 0 0 0 5.2-5.2L15 12l-3-3z"],
  check: ["M5 13l4 4L19 7"],
  alert: ["M12 8v5", "M12 16.5h.01", "M12 3l9 16H3z"],
  info: ["M12 11v5", "M12 8h.01", "M12 3a9 9 0 1 0 0 18 9 9 0 0 0 0-18z"],
  skills: ["M12 3l8 4.5-8 4.5-8-4.5z", "M4 12l8 4.5 8-4.5", "M4 16.5L12 21l8-4.5"],
  inspect: [
    "M2.5 12S6 5.5 12 5.5 21.5 12 21.5 12 18 18.5 12 18.5 2.5 12 2.5 12z",
    "M12 9a3 3 0 1 0 0 6 3 3 0 0 0 0-6z",
  ],
  search: ["M11 4a7 7 0 1 0 0 14 7 7 0 0 0 0-14z", "M20 20l-4-4"],
  local: ["M4 5h16v11H4z", "M9 20h6", "M12 16v4"],
  cloud: ["M7 18a4 4 0 0 1-.6-7.96 6 6 0 0 1 11.5 1.46A3.3 3.3 0 0 1 17.5 18z"],
  microphone: [
    "M12 4a2.5 2.5 0 0 0-2.5 2.5v5a2.5 2.5 0 0 0 5 0v-5A2.5 2.5 0 0 0 12 4z",
    "M6 11a6 6 0 0 0 12 0",
    "M12 17v3",
  ],
  muted: [
    "M9.5 9.5v2a2.5 2.5 0 0 0 4 2",
    "M14.5 10.5v-4a2.5 2.5 0 0 0-4.8-1",
    "M6 11a6 6 0 0 0 9.8 4.6",
    "M17.6 13.2a6 6 0 0 0 .4-2.2",
    "M12 17v3",
    "M4 4l16 16",
  ],
  space: ["M3 7h18v10H3z", "M8 11.5v2h8v-2"],
  text: ["M5 7h14", "M5 12h14", "M5 17h8"],
  enlarge: ["M14 5h5v5", "M19 5l-6 6", "M10 19H5v-5", "M5 19l6-6"],
  tab: ["M13 4h7v7", "M20 4l-9 9", "M17 14v6H4V7h6"],
  sound: ["M4 10v4h3l5 4V6L7 10z", "M15.5 9a4 4 0 0 1 0 6", "M18 6.5a8 8 0 0 1 0 11"],
  file: ["M7 4h7l4 4v12H7z", "M14 4v4h4"],
  attach: ["M20 11.5l-8 8a5.2 5.2 0 0 1-7.4-7.4l8.3-8.3a3.5 3.5 0 0 1 5 5l-8.3 8.3a1.8 1.8 0 0 1-2.5-2.5l7.6-7.6"],
  import: ["M12 4v11", "M7.5 10.5L12 15l4.5-4.5", "M4 16v4h16v-4"],
  image: ["M4 5h16v14H4z", "M4 16l5-5 4 4 3-3 4 4", "M15.5 9h.01"],
  chevron: ["M9 6l6 6-6 6"],
  back: ["M15 6l-6 6 6 6"],
  copy: ["M9 9h11v11H9z", "M5 15H4V4h11v1"],
  edit: ["M4 20h4L19 9l-4-4L4 16z", "M13 7l4 4"],
};

/** @param {keyof typeof PATHS} name */
export function icon(name) {
  return h(
    "svg",
    { class: `icon icon-${name}`, viewBox: "0 0 24 24", "aria-hidden": "true", focusable: "false" },
    PATHS[name].map((d) => h("path", { d })),
  );
}
