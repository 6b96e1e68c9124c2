// The demo page: its language, the script tag to copy, and the model that answers.

import { isChinese, offerCopy, tagOf, translate } from "/page.js";

const CHINESE = {
  heading: "任何网站，一行代码，即问即答。",
  lead: "页面上一个 script 标签，一台您自己的小服务器。API 密钥始终只在服务器上。",
  embed: "放到您的网站上",
  pin: "固定版本（SRI）",
  copy: "复制",
  allow: "然后告诉服务器哪个网站可以使用：",
  playground: "外观设置",
  sample: "向示例商店提问",
  model: (name) => `由 ${name} 回答。`,
  local: (name) =>
    `目前由这台电脑上一个很小的模型 ${name} 回答（它主要懂英文），无需账号即可试用。设置 KEFU_API_KEYS 后换用真正的模型。`,
  quoted: () =>
    "示例模式：没有连接模型，回答是已学习页面的原文引用。设置 KEFU_API_KEYS 后由模型回答。",
  down: "服务没有响应。",
  questions: "配送要多久？|怎么退款？|可以退货吗？|我的订单 1001 在哪里？|取消订单 1001",
};
const ENGLISH = {
  model: (name) => `Answers come from ${name}.`,
  down: "The service does not answer.",
  questions:
    "How long does delivery take?|Can I send boots back?|When are you open?|" +
    "Where is my order 1001?|Cancel order 1001",
};

const texts = isChinese ? CHINESE : ENGLISH;
const tag = document.getElementById("tag");

/** Shows the script tag. With `integrity`, the browser refuses a changed file. */
function showTag(file = "chat-widget.js", integrity = "") {
  const pinned = integrity ? { integrity, crossorigin: "anonymous" } : {};
  const src = `${location.origin}/${file}`;
  tag.textContent = tagOf({ src, ...pinned, "data-api-url": `${location.origin}/api/chat` });
}

/** Offers a tag with the hash of this build, if the server has chat-widget.json. */
async function offerPin() {
  const response = await fetch("/chat-widget.json");
  if (!response.ok) return;
  const { file, integrity } = await response.json();
  const pin = document.getElementById("pin");
  pin.hidden = false;
  pin.addEventListener("click", () => {
    const pinned = pin.getAttribute("aria-pressed") !== "true";
    pin.setAttribute("aria-pressed", String(pinned));
    showTag(...(pinned ? [file, integrity] : []));
  });
}

/** The notice of the service; translated into Chinese for the models that are known here. */
function noticeOf({ status, model, upstream, notice }) {
  if (isChinese && status === "ok" && notice) {
    if (upstream === "local-model") return CHINESE.local(model);
    if (upstream === "sample") return CHINESE.quoted();
  }
  return notice || texts.model(model);
}

/** Starts the chat; with the sample pages, questions that they answer are suggested. */
function startChat({ knowledge } = {}) {
  const script = document.createElement("script");
  // Some browsers and policies take an address from such a policy alone.
  const policy = globalThis.trustedTypes?.createPolicy("kefu-demo", { createScriptURL: String });
  script.src = policy ? policy.createScriptURL("/chat-widget.js") : "/chat-widget.js";
  script.dataset.apiUrl = document.body.dataset.chat;
  script.dataset.open = "";
  if (knowledge?.sample) script.dataset.suggestions = texts.questions;
  document.head.append(script);
}

async function start() {
  const notice = document.getElementById("notice");
  try {
    const health = await (await fetch("/health")).json();
    notice.textContent = noticeOf(health);
    startChat(health);
  } catch {
    notice.textContent = texts.down;
    startChat();
  }
  notice.hidden = false;
}

translate(CHINESE);
showTag();
offerCopy(document.getElementById("copy"), tag);
start();
offerPin();
