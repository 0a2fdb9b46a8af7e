/** What a client knows of one connection and its conversations: types of state.js and of all that changes it. */

import type {
  AttachedImage,
  ClientSettings,
  ClientFrame,
  ErrorFrame,
  Message,
  Notice,
  Ready,
  ServerFrame,
  SpeechStatus,
  TurnDetection,
  TurnEnd,
} from "../frames.js";
import type { Playback, Segment } from "../playback.js";
import type { SocketEvent } from "../socket.js";
import type { MicrophoneEvent } from "../voice/microphone_control.js";

/** One conversation as it is stored. */
export interface ConversationRecord {
  id: string;
  /** empty if it is made from the first user message */
  title: string;
  createdAt: number;
  updatedAt: number;
  /** when it was pinned; 0 if it is not */
  pinnedAt: number;
  conversationHistory: readonly Message[];
  /** the other versions, the one shown last at the end */
  branches: readonly (readonly Message[])[];
  /** what a cut at this moment would keep of the running turn */
  historySegments: readonly Segment[];
}

/** "read": another tab or page writes the conversation */
export type Access = "opening" | "write" | "read";
export type Conversation = Omit<ConversationRecord, "historySegments"> & { access: Access; revision: number };

/** The turn that is running. */
export interface Turn {
  id: string;
  conversationId: string;
  /** stored before it is sent; waiting: it never began there and is sent again with the next connection; running once `turn_start` has come */
  phase: "storing" | "sent" | "waiting" | "running";
  /** of the conversation that holds the user message */
  revision: number;
  /** every `text` delta so far: for display alone */
  streamed: string;
  playback: Playback;
  /** the playback as it was last reported to the server: sentence and half second */
  reported: string;
  /** the user agreed to send without messages that do not verify */
  leavesOut: boolean;
  /** it was typed, and sent once at most */
  canResend: boolean;
  /** id of the nudge that it answers; empty if the user asked */
  nudge: string;
  /** `turn_end.state` of a turn that has no message to keep it on before its end */
  hookState: string;
}

/** What is shown of a turn besides its messages; it is not stored. */
export interface TurnView {
  segments: readonly Segment[];
  reasoning: string;
  /** what was written and cut off before it was heard */
  unheard: string;
  end: TurnEnd | null;
  error: ErrorFrame | null;
  notices: readonly Notice[];
  /** ids of the tool calls that the user has said no to */
  refused: readonly string[];
  /** the question was spoken, here and since the page was loaded */
  isSpoken: boolean;
}

export type Connection = {
  phase: "connecting" | "online" | "waiting" | "closed";
  attempt: number;
  code: number | null;
};

/** The user's side of the spoken conversation. */
export interface Speaking {
  mic: "off" | "starting" | "on";
  /** why the microphone is off */
  problem: string | null;
  /** of the microphone */
  rate: number;
  /** the system lets no sound through */
  isMuted: boolean;
  /** the user has muted the microphone */
  isSilenced: boolean;
  /** of the utterance */
  phase: "quiet" | "maybe" | "speaking" | "recognizing";
  /** the words so far */
  transcript: string;
  /** the last one that was noticed */
  utterance: string | null;
  /** utterance → conversation, until its words have come */
  spokenIn: Readonly<Record<string, string>>;
  /** the key of push-to-talk is down */
  isHeld: boolean;
}

/** Any client's; that of the page has more. */
export interface ClientState {
  connection: Connection;
  /** the last `ready` */
  server: Ready | null;
  settings: { readAloud: "spoken" | "always" | "never"; turnDetection: TurnDetection };
  /** the server's engines */
  speech: SpeechStatus | null;
  voice: Speaking;
  /** whether sound can be played here */
  canPlay: boolean;
  /** what this browser can do of Opus; null if sound is PCM, or before that is known */
  codecs: import("../voice/opus.js").Codecs | null;
  /** the conversation that the user is in */
  openId: string | null;
  loaded: Readonly<Record<string, Conversation>>;
  turn: Turn | null;
  /** turn → conversation, until its `turn_end` arrives */
  cutTurns: Readonly<Record<string, string>>;
  /** by turn */
  views: Readonly<Record<string, TurnView>>;
  /** of the last event, to be carried out once */
  effects: readonly { type: string }[];
}

export type ProblemCode = "history_shortened" | "storage_failed" | "speech_lost" | "turn_aborted" | "message_too_large";

export type Effect =
  | { type: "send"; frame: ClientFrame }
  | { type: "save"; record: ConversationRecord; revision: number }
  /** something that the user should know */
  | { type: "problem"; code: ProblemCode; turnId?: string; detail?: string | number }
  /** playback has come so far */
  | { type: "reached"; turnId: string; before: Playback; after: Playback }
  /** what the user wrote goes back to where it was written */
  | { type: "give_back"; text: string; images: readonly AttachedImage[] }
  | { type: "log_in" }
  | { type: "microphone"; isOn: boolean; deviceId: string }
  | { type: "silence"; isSilenced: boolean }
  | { type: "skip"; turnId: string; index: number }
  | { type: "sound"; act: "flush" | "pause" | "resume" };

/** What a `Channel` reports. */
export type ChannelEvent =
  | { type: "frame"; frame: ServerFrame; at: number }
  | Exclude<SocketEvent, { type: "frame" }>
  | MicrophoneEvent
  | { type: "heard"; turnId: string; index: number; ms: number; isOver: boolean }
  | { type: "no_sound"; reason: string; isNotLoaded: boolean }
  | { type: "sound_back" }
  | { type: "codecs"; codecs: import("../voice/opus.js").Codecs }
  | { type: "sound_blocked"; isBlocked: boolean };

/** The state of a `Parley`. */
export interface ParleyState extends ClientState {
  /** fields of `configure` */
  clientSettings: Partial<ClientSettings>;
  /** the browser plays nothing until the user touches the page */
  isBlocked: boolean;
}

export type ParleyEvent =
  | ChannelEvent
  | { type: "opened"; record: ConversationRecord | null; at: number }
  | { type: "ask"; text: string; images: readonly AttachedImage[]; turnId: string; at: number }
  | { type: "retry"; turnId: string; at: number }
  | { type: "stop" }
  | { type: "close" }
  | { type: "clear" }
  | { type: "configure"; clientSettings: Partial<ClientSettings> }
  | { type: "saved"; id: string; revision: number }
  | { type: "save_failed"; id: string; revision: number; message: string }
  | { type: "switch_on"; deviceId: string }
  | { type: "switch_off" }
  | { type: "mute" }
  | { type: "talk"; isHeld: boolean };
