/** `<parley-talk>` in the JSX of React: `import type {} from "parley-client/react"`. */

import type { DetailedHTMLProps, HTMLAttributes } from "react";
import type { ParleyTalkAttributes, ParleyTalkElement } from "./talk.js";

declare module "react" {
  namespace JSX {
    interface IntrinsicElements {
      "parley-talk": DetailedHTMLProps<HTMLAttributes<ParleyTalkElement>, ParleyTalkElement> & ParleyTalkAttributes;
    }
  }
}
