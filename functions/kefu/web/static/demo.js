// The demo page: its language, the tag to paste, and who answers.

const CHINESE = {
  heading: "任何网站，一行代码，即问即答。",
  lead: "页面上一个 script 标签，一台您自己的小服务器。API 密钥始终只在服务器上。",
  embed: "放到您的网站上",
  pin: "固定版本（SRI）",
  copy: "复制",
  copied: "已复制",
  select: "请手动复制",
  allow: "然后告诉服务器哪个网站可以使用：",
  model: (name) => `由 ${name} 回答。`,
  local: (name) =>
    `目前由这台电脑上一个很小的模型 ${name} 回答（它主要懂英文），无需账号即可试用。设置 LONGCAT_API_KEYS 后换用真正的模型。`,
  scripted: () => "目前的回答是预先写好的，不是 AI 模型。",
  down: "服务没有响应。",
};
const ENGLISH = {
  copied: "Copied",
  select: "Please copy by hand",
  model: (name) => `Answers come from ${name}.`,
  down: "The service does not answer.",
};

const isChinese = /^zh\b/i.test(navigator.language);
const texts = isChinese ? CHINESE : ENGLISH;

if (isChinese) {
  document.documentElement.lang = "zh-CN";
  for (const node of document.querySelectorAll("[data-text]")) {
    node.textContent = CHINESE[node.dataset.text];
  }
}

/** The tag to paste; pinned, a changed file is refused by the browser. */
function tagOf(file, integrity) {
  const pinned = integrity ? `\n  integrity="${integrity}"\n  crossorigin="anonymous"` : "";
  return `<script
  src="${location.origin}/${file}"${pinned}
  data-api-url="${location.origin}/api/chat"
  defer></script>`;
}

let tag = "";
function showTag(file = "chat-widget.js", integrity = "") {
  tag = tagOf(file, integrity);
  document.getElementById("tag").textContent = tag;
}
showTag();

/** Offers the tag of exactly this build, where the build says what it is. */
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

const copy = document.getElementById("copy");
const copyLabel = copy.textContent;
copy.addEventListener("click", async () => {
  try {
    await navigator.clipboard.writeText(tag);
    copy.textContent = texts.copied;
  } catch {
    // No clipboard on a page without https: the text is selected instead.
    getSelection().selectAllChildren(document.getElementById("tag"));
    copy.textContent = texts.select;
  }
  setTimeout(() => {
    copy.textContent = copyLabel;
  }, 2000);
});

/** The service's own sentence; in Chinese where we know what it says. */
function noticeOf({ status, model, upstream, notice }) {
  if (isChinese && status === "ok" && notice) {
    if (upstream === "local-model") return CHINESE.local(model);
    if (upstream === "scripted") return CHINESE.scripted();
  }
  return notice || texts.model(model);
}

async function showNotice() {
  const notice = document.getElementById("notice");
  try {
    const response = await fetch("/health");
    notice.textContent = noticeOf(await response.json());
  } catch {
    notice.textContent = texts.down;
  }
  notice.hidden = false;
}

showNotice();
offerPin();
