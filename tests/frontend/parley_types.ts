/** Checked by tsc, never run: the library is what its declarations (frontend/sdk/types) say. */

import { browserStore, memoryStore, newId, Parley } from "../../frontend/sdk/parley.js";
import "../../frontend/sdk/talk.js";
import type * as declared from "../../frontend/sdk/types/parley.d.ts";
import type {} from "../../frontend/sdk/types/talk.d.ts";

export const library: Pick<typeof declared, "browserStore" | "memoryStore" | "newId"> & {
  Parley: new (options?: declared.Options) => declared.Parley;
} = { browserStore, memoryStore, newId, Parley };

export const pressed: Promise<void> | undefined = document.querySelector("parley-talk")?.toggle();
