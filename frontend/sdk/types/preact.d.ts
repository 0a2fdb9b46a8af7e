/** `<parley-talk>` in the JSX of Preact: `import type {} from "parley-client/preact"`. */

import type { ParleyTalkAttributes, ParleyTalkElement } from "./talk.js";

declare module "preact" {
  namespace JSX {
    interface IntrinsicElements {
      "parley-talk": HTMLAttributes<ParleyTalkElement> & ParleyTalkAttributes;
    }
  }
}
