/** The texts about answers for all visitors, in two languages. */

import { isChinese } from "./texts.ts";

const en = {
  known: "Make it known",
  ofTalk: "Your answer can help the next visitor, too.",
  notOnPages: (question: string) => `"${question}" was not on the pages. Your answer can be.`,
  write: "Write the answer",
  asSeen: "As everybody will see it",
  by: (name: string) => `Answered by ${name}`,
  personal: (parts: readonly string[]) => `This looks personal: ${parts.join(", ")}`,
  publish: "Publish",
  anyway: "Publish with the marked words",
  edit: "Change",
  cancel: "Cancel",
  preview: "Preview",
  question: "Question",
  text: "Answer, for all visitors (Markdown)",
  author: "Name that visitors see",
  page: "Page that it belongs to (optional)",
  withdraw: "Withdraw",
  withdrawSure: "Withdraw this answer? The next visitor will not get it.",
  copyCase: "Copy as test case",
};

const zh: typeof en = {
  known: "让大家知道",
  ofTalk: "您的回答也能帮助下一位访客。",
  notOnPages: (question) => `页面上没有“${question}”的答案。您可以补上。`,
  write: "撰写回答",
  asSeen: "所有人将看到的样子",
  by: (name) => `由 ${name} 回答`,
  personal: (parts) => `可能涉及个人信息：${parts.join("、")}`,
  publish: "发布",
  anyway: "连同标出的内容一起发布",
  edit: "修改",
  cancel: "取消",
  preview: "预览",
  question: "问题",
  text: "给所有访客的回答（Markdown）",
  author: "访客看到的名字",
  page: "所属页面（可选）",
  withdraw: "撤回",
  withdrawSure: "撤回这个回答？之后的访客将不会看到它。",
  copyCase: "复制为测试用例",
};

export const at = isChinese ? zh : en;
