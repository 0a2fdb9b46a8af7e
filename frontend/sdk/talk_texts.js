/**
 * The texts of `<parley-talk>`, in the language of the page around it.
 *
 * @typedef {typeof ENGLISH} Texts
 */

const ENGLISH = {
  talk: "Talk",
  stop: "Stop talking",
  hold: "Hold to talk",
  connecting: "Connecting …",
  blocked: "The browser plays no sound yet: press any key or click.",
  allow: "Allow",
  deny: "Don’t allow",
  phases: {
    offline: "The server cannot be reached. Trying again …",
    idle: "",
    listening: "Listening",
    hearing: "Listening …",
    thinking: "Thinking …",
    writing: "Answering …",
    speaking: "Speaking",
  },
  problems: /** @type {Record<string, string>} */ ({
    not_allowed: "The browser was not allowed to use the microphone. Allow it for this site, then try again.",
    no_longer_allowed:
      "The browser no longer lets this page use the microphone. Allow it for this site, then try again.",
    not_found: "No microphone was found. Plug one in, then try again.",
    in_use: "The microphone is in use by another program. Close it there, then try again.",
    no_output: "This browser cannot start its sound output. Connect a loudspeaker or headphones, then try again.",
    insecure: "Browsers allow the microphone only on https pages and on localhost.",
    not_started: "The microphone could not be started.",
    unplugged: "The microphone was unplugged.",
    not_authenticated: "The server asks for a login.",
    speech_lost: "The connection was lost while you were speaking. Please say it again.",
    history_shortened: "The conversation is long: its beginning was left out.",
    message_too_large: "This message is too long.",
    storage_failed: "This browser cannot keep the conversation.",
  }),
};

/** @type {Texts} */
const CHINESE = {
  talk: "说话",
  stop: "停止说话",
  hold: "按住说话",
  connecting: "正在连接…",
  blocked: "浏览器暂不播放声音：请按任意键或点击页面。",
  allow: "允许",
  deny: "不允许",
  phases: {
    offline: "无法连接服务器，正在重试…",
    idle: "",
    listening: "正在聆听",
    hearing: "正在聆听…",
    thinking: "正在思考…",
    writing: "正在回答…",
    speaking: "正在说话",
  },
  problems: {
    not_allowed: "浏览器未获准使用麦克风。请允许本网站使用，然后再试一次。",
    no_longer_allowed: "浏览器不再允许此页面使用麦克风。请允许本网站使用，然后再试一次。",
    not_found: "未找到麦克风。请插上一个，然后再试一次。",
    in_use: "麦克风正被其他程序使用。请关闭那个程序，然后再试一次。",
    no_output: "此浏览器无法启动声音输出。请连接扬声器或耳机，然后再试一次。",
    insecure: "浏览器只允许在 https 页面和 localhost 上使用麦克风。",
    not_started: "麦克风无法启动。",
    unplugged: "麦克风已被拔出。",
    not_authenticated: "服务器要求登录。",
    speech_lost: "您说话时连接断开了。请再说一遍。",
    history_shortened: "对话很长：最早的部分未发送。",
    message_too_large: "这条消息太长。",
    storage_failed: "此浏览器无法保存对话。",
  },
};

/** @param {string} language BCP 47 @returns {Texts} */
export function textsFor(language) {
  return /^zh\b/i.test(language) ? CHINESE : ENGLISH;
}
