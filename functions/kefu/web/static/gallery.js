// The gallery: every state of the widget, each in an iframe.

import { isChinese, translate } from "/page.js";

const CHINESE = {
  heading: "全部状态",
  playground: "外观设置",
  gallery: "全部状态",
  sample: "向示例商店提问",
  lead: "真实的组件，加上一个只在本页面里的模拟服务：不会发送任何内容。",
  theme: "明暗",
  auto: "跟随系统",
  light: "浅色",
  dark: "深色",
  lang: "语言",
};

/**
 * For each state its id and its name in English and Chinese; optional: the width of the frame and a
 * language.
 */
const STATES = [
  ["closed", "Closed", "关闭"],
  ["empty", "Open", "打开"],
  ["suggestions", "Suggestions", "建议问题"],
  ["logo", "With a logo", "带有标志"],
  ["consent", "Something to agree to", "先同意"],
  ["awaiting", "Waiting for the first word", "等待回答"],
  ["streaming", "Answering", "正在回答"],
  ["answered", "Answered", "回答完毕"],
  ["unread", "Answered behind the closed panel", "关闭后收到回答"],
  ["scrolled", "Scrolled up", "向上滚动"],
  ["sources", "Sources", "来源"],
  ["followUps", "Questions to go on", "接着问"],
  ["editing", "The last question is changed", "修改上一个问题"],
  ["table", "A table", "表格"],
  ["wide", "A wide table", "宽表格"],
  ["code", "Code", "代码"],
  ["stopped", "Stopped by the visitor", "访客停止"],
  ["waiting", "Busy: tries again by itself", "繁忙，自动重试"],
  ["failed", "The service failed", "服务故障"],
  ["disconnected", "The connection was lost", "连接中断"],
  ["offline", "Offline", "离线"],
  ["answered", "On a phone", "手机", "phone"],
  ["failed", "On a phone, in trouble", "手机，故障", "phone"],
  ["answered", "Read from the right", "从右向左书写", "", "ar"],
];

const form = document.getElementById("form");

translate(CHINESE);
if (isChinese) form.elements.lang.value = "zh-CN";

const frames = STATES.map(([scene, english, chinese, size = "", ownLang = ""]) => {
  const frame = document.createElement("iframe");
  frame.loading = "lazy";
  frame.title = isChinese ? chinese : english;
  const name = document.createElement("h2");
  name.textContent = frame.title;
  const item = document.createElement("li");
  item.className = size;
  item.append(name, frame);
  return { scene, ownLang, frame, item };
});
document.getElementById("states").append(...frames.map(({ item }) => item));

function show() {
  const { theme, lang } = form.elements;
  for (const { scene, ownLang, frame } of frames) {
    const wanted = new URLSearchParams({ scene, lang: ownLang || lang.value, theme: theme.value });
    frame.src = `/stage?${wanted}`;
  }
}

form.addEventListener("change", show);
show();
