/** A voice conversation with a Parley server. docs/clients.md describes it. */

export interface Options {
  /** Of the server, or of its WebSocket; by default where this module was loaded from. */
  url?: string;
  /** Who connects, where the server asks for it. A function is called for each connection, so that a token may expire. */
  token?: string | (() => string | null | Promise<string | null>);
  /** Id of the conversation, 1 to 64 of `A-Za-z0-9_-`; by default a new one. */
  conversation?: string;
  /** Where the conversation is kept; by default until the page goes. */
  store?: Store;
  /** Which replies are spoken; by default those to what was spoken. */
  speak?: "spoken" | "always" | "never";
  turnDetection?: "server_vad" | "push_to_talk";
  /** Tools that the model may call and this page runs. */
  tools?: readonly Tool[];
  /** How sound travels. "auto", the default: as Opus where browser and server can, and as PCM to a server on this machine. */
  sound?: "auto" | "opus" | "pcm16";
  /** Other fields of the protocol's `configure`. */
  configure?: Configuration;
}

export interface Configuration {
  skills?: string[] | null;
  enable_tools?: boolean;
  language?: string | null;
  speaker?: string | null;
  speed?: number;
  instructions?: string | null;
  max_tokens?: number | null;
  tool_choice?: "auto" | "none" | "required" | { name: string };
  trace?: boolean;
  /** What the application around the conversation knows, for the hooks of skills: `{plan: "pro"}`. It replaces what was given before. */
  context?: Readonly<Record<string, string | number | boolean | readonly string[]>>;
  /** What is said gives `transcript` events and no turns; `send` ends as failed. */
  transcribe_only?: boolean;
}

export interface Tool {
  name: string;
  description: string;
  /** JSON Schema of an object; by default without properties. */
  parameters?: object;
  /** What it returns or resolves to is read by the model: a string as it is, all else as JSON. What it throws is read as an error. */
  run(args: Record<string, unknown>, call: { signal: AbortSignal; turnId: string }): unknown;
}

export interface Message {
  role: "system" | "user" | "assistant";
  content: string;
  /** The hook whose text this is. */
  _hook?: string;
  _turn?: string;
  /** On a user message without a whole answer: why. */
  _answer?: "pending" | "lost" | "stopped" | "restarted" | "failed";
}

export interface ConversationRecord {
  id: string;
  readonly conversationHistory: readonly Message[];
  updatedAt: number;
}

export interface Store {
  load(id: string): Promise<any>;
  /** Settles once the record is safe: only then its message is sent. */
  save(record: any): Promise<void>;
}

export interface State {
  /** "closed": by `close()`, for good. */
  connection: "connecting" | "online" | "waiting" | "closed";
  phase: "offline" | "idle" | "listening" | "hearing" | "thinking" | "writing" | "speaking";
  microphone: "off" | "starting" | "on";
  /** Why the microphone is off: not_allowed, no_longer_allowed, not_found, in_use, no_output, insecure, not_started, unplugged. */
  problem: string | null;
  isMuted: boolean;
  isHeld: boolean;
  /** The words so far of what is being said. */
  transcript: string;
  /** Whether this browser can play sound. */
  canPlay: boolean;
  /** The browser plays nothing until the user touches the page. */
  isBlocked: boolean;
}

export interface TurnResult {
  turnId: string;
  reason: "completed" | "stopped" | "lost" | "failed";
  /** The reply, as it stands in the history. */
  text: string;
  error: { code: string; message: string } | null;
}

export interface Events {
  state: State;
  turn: { turnId: string };
  text: { turnId: string; delta: string; text: string };
  speaking: { turnId: string; text: string };
  sentence: { turnId: string; text: string };
  hook: { turn_id: string; name: string; skill: string; role: string; content: string };
  tool: { turn_id: string; id: string; name: string; arguments: unknown; result: ToolResult | null };
  media: { turn_id: string; url: string; content_type: string; name: string; size: number };
  approval: Approval;
  approval_resolved: { id: string; approved: boolean; by: string };
  transcript: { text: string; isFinal: boolean };
  end: TurnResult;
  history: readonly Message[];
  give_back: { text: string };
  notice: { code: string; level: "info" | "warning" | "error"; message: string };
  problem: { code: string; detail: string | number };
  level: number;
  frame: { type: string };
}

export interface ToolResult {
  content: string;
  is_error: boolean;
  for_user?: string;
}

export interface Approval {
  id: string;
  tool: string;
  arguments: unknown;
  message: string;
  timeout_ms: number;
}

export class Parley {
  constructor(options?: Options);
  readonly history: readonly Message[];
  readonly state: State;
  /** The questions that are open, by id. */
  readonly approvals: ReadonlyMap<string, Approval>;
  on<K extends keyof Events>(type: K, listener: (detail: Events[K]) => void): () => void;
  connect(): Promise<void>;
  talk(options?: { deviceId?: string }): Promise<void>;
  stopTalking(): void;
  mute(): void;
  hold(isHeld: boolean): void;
  send(
    text: string,
    options?: { images?: readonly { id?: string; name?: string; url: string }[] },
  ): Promise<TurnResult>;
  retry(): Promise<TurnResult>;
  interrupt(): void;
  approve(
    id: string,
    approved?: boolean,
    more?: { reason?: string; arguments?: Record<string, unknown>; remember?: "conversation" | "always" },
  ): void;
  configure(configuration: Configuration): void;
  clear(): void;
  close(): void;
}

export function memoryStore(): Store;
export function browserStore(prefix?: string, storage?: Storage): Store;
export function newId(): string;
