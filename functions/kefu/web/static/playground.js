// The playground: a form that writes the script tag, and a preview of the widget.

import { offerCopy, tagOf, translate } from "/page.js";

const CHINESE = {
  heading: "外观设置",
  playground: "外观设置",
  sample: "向示例商店提问",
  title: "名称",
  greeting: "问候语",
  suggestions: "建议问题，每行一个",
  accent: "颜色",
  "accent-hex": "颜色，#rrggbb",
  theme: "明暗",
  auto: "跟随页面",
  light: "浅色",
  dark: "深色",
  lang: "语言",
  page: "跟随网页",
  position: "位置",
  "by-language": "按语言方向",
  right: "右",
  left: "左",
  persist: "保留对话",
  session: "本次访问",
  local: "一直保留",
  never: "不保留",
  open: "开始时",
  closed: "关闭",
  opened: "打开",
  consent: "先征得同意",
  tag: "您的代码",
  reset: "重新开始",
  copy: "复制",
  preview: "预览",
  desktop: "电脑",
  phone: "手机",
};

const form = document.getElementById("form");
const tag = document.getElementById("tag");
const frame = document.getElementById("frame");
const colour = document.getElementById("colour");

/** The settings that the form changes, by name. Empty fields are left out. */
function settings() {
  const set = {};
  for (const [name, value] of new FormData(form)) {
    const lines = value.split("\n").map((line) => line.trim());
    const text = lines.filter(Boolean).join(name === "suggestions" ? "|" : " ");
    if (text !== "" && (name !== "accent" || form.elements.accent.validity.valid)) set[name] = text;
  }
  return set;
}

/** Shows the tag and the preview. `hasMoved`: the preview may have to load another page. */
function show(hasMoved = true) {
  const set = settings();
  const attributes = { src: `${location.origin}/chat-widget.js` };
  attributes["data-api-url"] = `${location.origin}/api/chat`;
  for (const [name, value] of Object.entries(set)) {
    attributes[`data-${name}`] = name === "open" ? "" : value;
  }
  tag.textContent = tagOf(attributes);
  if (!hasMoved) return;
  const wanted = new URLSearchParams(set);
  history.replaceState(null, "", `#${wanted}`);
  // The preview on a desktop shows the open panel, whatever the settings say.
  if (document.getElementById("desktop").ariaPressed === "true") wanted.set("open", "true");
  const address = `/stage?${wanted}`;
  // `replace` instead of `src`, so that a change adds no entry to the browser's history.
  frame.contentWindow.location.replace(address);
}

let timer;
form.addEventListener("input", (event) => {
  if (event.target === colour) form.elements.accent.value = colour.value;
  else if (event.target.name === "accent" && /^#[0-9a-f]{6}$/i.test(event.target.value)) {
    colour.value = event.target.value;
  }
  show(false);
  clearTimeout(timer);
  timer = setTimeout(show, 400);
});
// The fields are reset only after this event.
form.addEventListener("reset", () => setTimeout(show));
form.addEventListener("submit", (event) => event.preventDefault());

for (const size of ["desktop", "phone"]) {
  document.getElementById(size).addEventListener("click", () => {
    for (const name of ["desktop", "phone"]) {
      document.getElementById(name).ariaPressed = String(name === size);
    }
    frame.className = size;
    show();
  });
}

translate(CHINESE);
offerCopy(document.getElementById("copy"), tag);
for (const [name, value] of new URLSearchParams(location.hash.slice(1))) {
  const field = form.elements.namedItem(name);
  if (field !== null && field.name === name) {
    field.value = name === "suggestions" ? value.replaceAll("|", "\n") : value;
  }
}
if (form.elements.accent.value) colour.value = form.elements.accent.value;
show();
