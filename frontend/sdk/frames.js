/**
 * Every frame of `parley.v1` that the page reads or writes, as types. No code:
 * the modules that name these types are checked against them, nothing is loaded.
 *
 * @typedef {{name: string, timing: string, role: string, persistent: boolean, tool_filter: string[] | null,
 *   text?: string}} HookItem
 * @typedef {{name: string, description: string, enabled: boolean, default?: "off", hooks: HookItem[], hooks_omitted?: number,
 *   tests?: SkillTests, triggers?: {name: string, on: "connect" | "idle"}[]}} SkillItem
 * @typedef {{count: number, failed: number, not_run: number, failures: FailedTest[]}} SkillTests
 * @typedef {{name: string, file: string, line: number, details: string}} FailedTest
 * @typedef {{severity: string, skill: string | null, file: string | null, path: string | null, message: string}} Diagnostic
 * @typedef {{name: string, host: string, location: "local" | "cloud", languages?: string[]}} ModelItem
 * @typedef {{max_message_bytes: number, max_messages: number}} Limits
 * @typedef {{state: "ready" | "loading" | "missing", name: string | null, reason: string | null}} SpeechPart
 * @typedef {{stt: SpeechPart, tts: SpeechPart, vad: SpeechPart, opus?: SpeechPart, stt_languages?: string[],
 *   tts_languages?: string[], voices?: string[]}} SpeechStatus
 * @typedef {{format: "pcm16" | "opus", sample_rate: number}} AudioFormat
 * @typedef {[offset: number, start_ms: number]} Word
 *
 * @typedef {object} Message A message of a conversation. Keys that begin with `_` are ours and never reach the model.
 * @property {"system" | "user" | "assistant"} role
 * @property {string} content
 * @property {string} [_hook] the hook whose text this is
 * @property {string} [_skill]
 * @property {string} [_sig] the server's signature; a message that has it comes back as it was
 * @property {string} [_timing]
 * @property {string} [_turn] the turn that this message belongs to
 * @property {Answer} [_answer] on a user message: why it has no whole answer; absent = it has one
 * @property {number} [_at] on a user message that was asked again: when, as its versions are ordered by it
 * @property {string} [_state] on the first message of a turn: its `turn_end.state`, which the next turn brings back
 * @property {boolean} [_unverified] the server refused it and the user agreed to leave it out
 * @property {readonly AttachedImage[]} [_images] of the user; where they are sent, they become parts
 * @property {MediaItem} [_media] this is no message but a file that was shown here; it is never sent
 *
 * @typedef {{id: string, name: string, url: string, width: number, height: number}} AttachedImage
 *   `url`: a data: URL, of a document one of text; empty if this browser has lost it
 * @typedef {{type: "text", text: string} | {type: "image_url", image_url: {url: string}}} Part
 * @typedef {Omit<Message, "content"> & {content: string | Part[]}} SentMessage
 *
 * @typedef {"pending" | "lost" | "stopped" | "restarted" | "failed"} Answer
 *
 * @typedef {{type: "ready", protocol: string, session_id: string, server: string, skills: SkillItem[], model: ModelItem,
 *   speech?: SpeechStatus, limits: Limits, user?: {name: string, is_operator: boolean, is_logged_in: boolean}}} Ready
 * @typedef {{type: "speech"} & SpeechStatus} Speech
 * @typedef {{type: "model"} & ModelItem} Model
 * @typedef {{type: "speech_detected", utterance: string, audio_ms: number}} SpeechDetected
 * @typedef {{type: "speech_rejected", utterance: string}} SpeechRejected
 * @typedef {{type: "speech_started", utterance: string, audio_ms: number}} SpeechStarted
 * @typedef {{type: "speech_stopped", utterance: string, audio_ms: number}} SpeechStopped
 * @typedef {{type: "transcript", utterance: string, text: string, final: boolean, turn_id?: string}} Transcript
 * @typedef {{type: "skills", skills: SkillItem[], diagnostics: Diagnostic[]}} Skills
 * @typedef {{type: "turn_start", turn_id: string, trigger: "chat" | "voice" | "speak" | "nudge", skills: string[]}} TurnStart
 * @typedef {{type: "nudge", id: string, skill: string, name: string}} Nudge
 * @typedef {{type: "text", turn_id: string, delta: string}} Text
 * @typedef {{type: "reasoning", turn_id: string, delta: string}} Reasoning
 * @typedef {{type: "sentence", turn_id: string, index: number, text: string, spoken: string | null,
 *   audio: AudioFormat | null, approval?: string}} Sentence
 * @typedef {{type: "sentence_end", turn_id: string, index: number, duration_ms: number, words?: Word[]}} SentenceEnd
 * @typedef {{type: "hook", turn_id: string, name: string, role: "system" | "user", content: string, skill: string,
 *   timing: string, sig: string}} Hook
 * @typedef {{type: "tool_call", turn_id: string, id: string, name: string, arguments: unknown}} ToolCall
 * @typedef {{type: "tool_result", turn_id: string, id: string, name: string, content: string, is_error: boolean,
 *   duration_ms: number, ending?: "answered" | "failed" | "denied" | "skipped" | "open", arguments?: unknown, for_user?: string}} ToolResult
 * @typedef {{type: "client_tool_call", turn_id: string, id: string, name: string, arguments: Record<string, unknown>}} ClientToolCall
 * @typedef {{url: string, content_type: string, name: string, size: number}} MediaItem
 * @typedef {{type: "media", turn_id: string} & MediaItem} Media
 * @typedef {{type: "approval_request", id: string, turn_id?: string, call_id?: string, tool: string, arguments: unknown, message: string,
 *   timeout_ms: number, origin?: string, permission?: "READ" | "WRITE" | "EXTERNAL", by_voice?: boolean,
 *   remember_for?: RememberFor[], command_name?: string}} ApprovalRequest
 * @typedef {"arguments" | "command" | "tool"} RememberFor what a remembered yes covers
 * @typedef {{type: "approval_resolved", id: string, turn_id?: string, approved: boolean, by: string,
 *   tool?: string}} ApprovalResolved
 * @typedef {{type: "notice", code: string, level: "info" | "warning" | "error", message: string, turn_id?: string}} Notice
 * @typedef {{type: "trace", turn_id: string, event: string, data: unknown}} Trace
 * @typedef {"completed" | "interrupted" | "aborted" | "error"} EndReason
 * @typedef {{type: "turn_end", turn_id: string, reason: EndReason, message?: string, rollback?: boolean, state?: string,
 *   usage?: Record<string, number>, metrics?: Record<string, number | null>}} TurnEnd
 * @typedef {{type: "error", code: string, message: string, path?: string, turn_id?: string, retry_after_ms?: number}} ErrorFrame
 * @typedef {{type: "pong", t: unknown}} Pong
 *
 * @typedef {Sentence | SentenceEnd | Hook | ToolCall | ToolResult | Media | TurnEnd} QueuedFrame handled in playback order
 * @typedef {Speech | SpeechDetected | SpeechRejected | SpeechStarted | SpeechStopped | Transcript} SpeechFrame
 * @typedef {SpeechFrame | ClientToolCall | ApprovalRequest | ApprovalResolved | Ready | Model | Skills | Nudge | TurnStart | Text | Reasoning | Notice | Trace | ErrorFrame | Pong} ImmediateFrame
 *   handled on arrival
 * @typedef {QueuedFrame | ImmediateFrame} ServerFrame
 *
 * @typedef {"server_vad" | "push_to_talk"} TurnDetection
 * @typedef {{voice: boolean, turn_detection: TurnDetection, input: AudioFormat,
 *   output?: {format: "pcm16" | "opus"},
 *   skills: string[] | null, enable_tools: boolean, language: string | null, speaker: string | null, speed: number,
 *   conversation: string | null, trace: boolean, nudges: boolean, context?: Context, instructions?: string | null,
 *   max_tokens?: number | null,
 *   tools?: ToolItem[], tool_choice?: "auto" | "none" | "required" | {name: string}}} ClientSettings
 * @typedef {Readonly<Record<string, string | number | boolean | readonly string[]>>} Context what the application knows
 * @typedef {{name: string, description: string, parameters: object}} ToolItem
 * @typedef {{type: "configure"} & Partial<ClientSettings>} Configure
 * @typedef {{type: "history", utterance: string, messages: SentMessage[], state?: string}} History
 * @typedef {{type: "speech_start"} | {type: "speech_end"} | {type: "speech_cancel"}} Key
 * @typedef {{type: "playback", turn_id: string, index: number, ms: number, state: "started" | "playing" | "stopped"}} Heard
 * @typedef {{type: "chat", id: string, messages: SentMessage[], voice?: boolean, state?: string, nudge?: string, resend?: boolean}} Chat
 * @typedef {{type: "speak", id: string, text: string}} Speak
 * @typedef {{type: "interrupt", turn_id: string}} Interrupt
 * @typedef {{type: "approval", id: string, approved: boolean, reason?: string, arguments?: Record<string, unknown>,
 *   remember?: "conversation" | "always", remember_for?: RememberFor}} Approval
 * @typedef {{type: "tool_output", id: string, content: string, is_error?: boolean, turn_id?: string}} ToolOutput
 * @typedef {{type: "ping", t: number}} Ping
 * @typedef {Configure | Chat | Speak | History | Key | Heard | Interrupt | Approval | ToolOutput | Ping} ClientFrame
 */

export {};
