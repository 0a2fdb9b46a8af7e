import type { Options, Parley } from "./parley.js";

/** `<parley-talk url="…" token="…" conversation="…" push-to-talk label="…">` */
export interface ParleyTalkElement extends HTMLElement {
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
