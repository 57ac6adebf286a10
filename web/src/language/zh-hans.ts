// SPDX-License-Identifier: MIT

// The texts of the page in Chinese, as it is written in China and Singapore, by folder of the source: a text that two folders have stands
// with the first.
export default {
  // the page
  // chats
  // host
  // live
  // media
  // plugins
  // rules
  // scripts
  // settings
  // text
  file: "文件",
  "{name} (data, not shown)": "{name}（数据，不显示）",
  "Footnote {name}": "脚注 {name}",
  Details: "详情",
  image: "图片",
  Table: "表格",
  text: "文本",
  Copy: "复制",
  "{n} tokens": ["{n} 个词元"],
  "{n} s": "{n} 秒",
  "{n} ms": "{n} ms",
  "{n} µs": "{n} µs",
  "{n} min": "{n} 分钟",
  "{n} min {rest} s": "{n} 分 {rest} 秒",
  "This is not JSON: {why}": "这不是 JSON：{why}",
  Done: "已完成",
  "Not done": "未完成",
  "≈ {n} tokens": "≈ {n} 个词元",
  // tools
  // trace
  "No record was kept of this token.": "没有此词元的记录。",
  "You took {token} back.": "您收回了 {token}。",
  "{who} took {token} back. Nobody saw it.": "{who} 收回了 {token}。没有人看到过它。",
  "You took back {tokens}: {text}.": "您收回了 {tokens}：{text}。",
  "You took back {tokens}: {text}, {times} times.": "您收回了 {tokens}：{text}，{times} 次。",
  "{who} took back {tokens}: {text}.": "{who} 收回了 {tokens}：{text}。",
  "{who} took back {tokens}: {text}, {times} times.": "{who} 收回了 {tokens}：{text}，{times} 次。",
  "The model’s first choice was {token} ({p}).": "模型的首选是 {token}（{p}）。",
  "{token} was {nth} ({p}).": "{token} 排在{nth}（{p}）。",
  "{first} {second}": "{first}{second}",
  "allowed {tokens} of {n}": "允许 {n} 个中的 {tokens}",
  "banned {tokens}": "禁止 {tokens}",
  "made {tokens} more or less likely": "改变 {tokens} 的可能性",
  "{who} {did}.": "{who}：{did}。",
  "{who} kept {n} of {of}.": "{who} 保留了 {of} 个中的 {n} 个。",
  "{who} changed the probabilities.": "{who} 改变了概率。",
  "{token} rose from {from} to {to}.": "{token} 从{from}升到{to}。",
  "{token} fell from {from} to {to}.": "{token} 从{from}降到{to}。",
  "{who} notes: {text}": "{who} 备注：{text}",
  "{who} forced {token}: no stage was asked.": "{who} 强制写入 {token}：未询问任何阶段。",
  "{who} put {token} here itself.": "{who} 自行在此放入 {token}。",
  "You put {token} here.": "您在此放入了 {token}。",
  "{who} chose {token}.": "{who} 选择了 {token}。",
  "{who} chose {token}, the only one left.": "{who} 选择了仅剩的 {token}。",
  "{who} chose {token} ({p}).": "{who} 选择了 {token}（{p}）。",
  "You took back {what}.": "您收回了 {what}。",
  "{who} took back {what}.": "{who} 收回了 {what}。",
  "You put in {what}.": "您放入了 {what}。",
  "{who} put in {what}.": "{who} 放入了 {what}。",
  "{token} twice": "{token} 两次",
  "{token} {n} times": "{token} {n} 次",
  "{tokens} and {n} more": "{tokens} 及另外 {n} 个",
  "{p} or more": "{p} 及以上",
  "{from}–{to} %": "{from}–{to}%",
  "below {p}": "低于 {p}",
  "< {n} %": "< {n}%",
  "> {n} %": "> {n}%",
  "{n} %": "{n}%",
  "{n}st": "第 {n} 位",
  "{n}nd": "第 {n} 位",
  "{n}rd": "第 {n} 位",
  "{n}th": "第 {n} 位",
  You: "您",
  "random draw": "随机抽取",
  model: "模型",
  "plugins' rules": "插件的规则",
  "The random draw": "随机抽取",
  "without plugin {name}": "不用插件 {name}",
  "with the chat’s present settings": "用对话的当前设置",
  "always the most likely token (temperature {n})": "总选最可能的词元（温度 {n}）",
  "livelier (temperature {n})": "更活泼（温度 {n}）",
  "without any stage that cuts candidates": "不用任何裁剪候选的阶段",
  // view
  // view/chat
  // view/files
  // view/finder
  // view/form
  // view/inspector
  // view/live
  // view/models
  // view/palette
  // view/plugins
  // view/roads
  // view/script
  // view/settings
  // view/shortcuts
  // view/sidebar
  "As the browser": "跟随浏览器",
  Language: "语言",
  // view/steering
  // view/strategy
  // view/tools
};
