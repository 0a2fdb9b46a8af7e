import type { Options, Parley } from "./parley.js";

/** The attributes of `<parley-talk>`. */
export interface ParleyTalkAttributes {
  /** Of the server; by default where the module was loaded from. */
  url?: string;
  token?: string;
  /** Name under which this browser keeps the conversation. */
  conversation?: string;
  "push-to-talk"?: boolean | "";
  /** What the button says. */
  label?: string;
}

/** `<parley-talk url="…" token="…" conversation="…" push-to-talk label="…">` */
export class ParleyTalkElement extends HTMLElement {
  /** What attributes cannot say; set it before the button is pressed for the first time. */
  options: Options;
  /** The conversation, once the button was pressed. */
  readonly parley: Parley | null;
  /** Start to talk, or stop; as pressing the button does. */
  toggle(): Promise<void>;
}

declare global {
  interface HTMLElementTagNameMap {
    "parley-talk": ParleyTalkElement;
  }
}
