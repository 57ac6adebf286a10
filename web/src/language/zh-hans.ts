// SPDX-License-Identifier: MIT

// The texts of the page in Chinese, as it is written in China and Singapore, by folder of the source: a text that two folders have stands
// with the first.
export default {
  // the page
  // chats
  // host
  // live
  "more than {time}": "超过 {time}",
  "Half of all tokens came within {half} of the one before, 95 % within {most}, 99 % within {nearlyAll}.":
    "一半的词元在前一个之后 {half} 内到达，95% 在 {most} 内，99% 在 {nearlyAll} 内。",
  Free: "空闲",
  Paused: "已暂停",
  Waits: "等待中",
  "Reads its prompt": "正在读取提示词",
  Writes: "正在写",
  "Its reader has paused it.": "读者已将其暂停。",
  "Its tokens are read too slowly, or by nobody just now, so it waits.":
    "词元读取得太慢，或暂时无人读取，因此它在等待。",
  "Its plugins have used up their processor time, and rest for a moment.":
    "其插件已用完处理器时间，正在稍作休息。",
  "The prompts of other answers are computed first.": "先计算其他回答的提示词。",
  "The memory has no room for it now.": "内存中暂时没有它的空间。",
  "Its program does not ask for it now.": "其程序暂时不需要它。",
  "All slots are taken.": "所有槽位都已占用。",
  "The beginning of its prompt is read from the disk.": "正在从磁盘读取其提示词的开头。",
  "Another answer computes the beginning of the same prompt, which both will share.":
    "另一个回答正在计算相同提示词的开头，之后两者共用。",
  "It waits for {what}.": "它在等待 {what}。",
  "Its next token is still being chosen.": "仍在选择下一个词元。",
  "{plugins} have not decided on the next token yet.": ["{plugins} 尚未决定下一个词元。"],
  "The queue is empty.": "队列为空。",
  "{n} answers wait: {why}.": ["{n} 个回答在等待：{why}。"],
  "{n} for a slot": "{n} 个等槽位",
  "{n} for room in the memory": "{n} 个等内存空间",
  "{n} for another to compute the same prompt": "{n} 个等其他回答计算相同的提示词",
  "{n} because they are paused": "{n} 个已暂停",
  "{n} for their readers": "{n} 个等读者",
  "{n} for {what}": "{n} 个等 {what}",
  "{n} decoded": "解码 {n}",
  "{n} of prompts": "提示词 {n}",
  "Tick {number}: tokens {tokens}; {passes}; {times}.": "节拍 {number}：词元：{tokens}；{passes}；{times}。",
  "tokens|none": "无",
  "{n} passes": ["{n} 次前向计算"],
  "model {model}, sampling {sampling}, in all {total}": "模型 {model}，采样 {sampling}，共 {total}",
  "model {model}, sampling {sampling}, plugins {plugins}, in all {total}":
    "模型 {model}，采样 {sampling}，插件 {plugins}，共 {total}",
  "The last {n} ticks computed {answers} tokens of answers and {prompts} of prompts each, in {time} on average.":
    ["最近 {n} 个节拍平均各计算 {answers} 个回答词元和 {prompts} 个提示词词元，用时 {time}。"],
  "Waiting for the server…": "正在等待服务器…",
  "In the queue: you are next": "排队中：下一个就是您",
  "In the queue: place {n}": "排队中：第 {n} 位",
  "Loading the model {model}…": "正在加载模型 {model}…",
  "Reading the prompt: {done} of {total} tokens": "正在读取提示词：{done} / {total} 个词元",
  "Reading the prompt: {done} of {total} tokens, about {time} left":
    "正在读取提示词：{done} / {total} 个词元，还需约 {time}",
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
  "Another answer of this page": "此页面的另一个回答",
  "A plugin being tried": "正在试用的插件",
  "Untitled chat": "无标题对话",
  "The last ticks as a table": "以表格显示最近的节拍",
  "The last ticks": "最近的节拍",
  Tick: "节拍",
  "Tokens of answers": "回答的词元",
  "Tokens of prompts": "提示词的词元",
  Passes: "前向计算",
  Model: "模型",
  Sampling: "采样",
  Plugins: "插件",
  "In all": "总计",
  "Read again": "重新读取",
  "Time between tokens": "词元间隔",
  "No answer has had two tokens yet.": "还没有回答写出两个词元。",
  "p{n}": "p{n}",
  "Of {n} tokens since the model was loaded, estimated from the bars.":
    "模型加载以来的 {n} 个词元，由柱状图估算。",
  "more than {time}: {n}": "超过 {time}：{n}",
  "up to {time}: {n}": "不超过 {time}：{n}",
  "No model": "没有模型",
  "The server shows no live view: {why}": "服务器不提供实时视图：{why}",
  "No model is loaded. The first question in a chat loads one, and then its slots are shown here.":
    "没有加载模型。对话中的第一个提问会加载一个，随后这里显示其槽位。",
  "{name} is being loaded.": "正在加载 {name}。",
  "{name} is being loaded; {n} answers wait for it.": ["正在加载 {name}；{n} 个回答在等待。"],
  Memory: "内存",
  "What the model remembers of each token (KV cache).": "模型对每个词元的记忆（KV 缓存）。",
  "Room for {n} tokens, of which {used} are taken.": "可容纳 {n} 个词元，已用 {used} 个。",
  "Memory: {running} in use, {kept} kept from earlier": "内存：使用中 {running}，先前保留 {kept}",
  "running answers {n} ({p})": "进行中的回答 {n}（{p}）",
  "kept from earlier {n} ({p})": "先前保留 {n}（{p}）",
  Ready: "就绪",
  "In quarantine for a client": "对某客户端隔离中",
  "Cannot be used with this model": "无法用于此模型",
  "The server has no plugins. {link}, and its calls are counted here.":
    "服务器没有插件。{link}，其调用将在此计数。",
  "Add one": "添加一个",
  "What plugins do": "插件的活动",
  Name: "名称",
  State: "状态",
  Calls: "调用次数",
  "A call takes": "每次用时",
  Faults: "故障",
  "Not called yet: {names}.": "尚未调用：{names}。",
  Queue: "队列",
  "Place {n}, for {time}.": "第 {n} 位，已等 {time}。",
  Slots: "槽位",
  "Each slot holds one answer; answers beyond them wait in the queue.":
    "每个槽位容纳一个回答；其余的在队列中等待。",
  "All {n} slots are free. {link}: its prompt is read and its answer is written in one of them, and each tick of that shows here.":
    "全部 {n} 个槽位空闲。{link}：提示词在其中一个槽位中读取，回答在其中写出，每个节拍都显示在这里。",
  "Ask something in a chat": "在对话中提问",
  "{n} slots are free.": ["{n} 个槽位空闲。"],
  "Slot {n}": "槽位 {n}",
  "Another client": "另一个客户端",
  "{rate} tokens/s": "{rate} 词元/秒",
  "priority {n}": "优先级 {n}",
  Steer: "操控",
  "{done} of {total} prompt tokens": "提示词 {done} / {total} 个词元",
  "{n} of {most} tokens": "{n} / {most} 个词元",
  "The answer has no limit": "回答没有上限",
  "{n} % of the longest answer": "最长回答的 {n}%",
  "{n} % of the prompt": "提示词的 {n}%",
  now: "现在",
  held: "已定格",
  "−{n} s": "−{n} 秒",
  Ticks: "节拍",
  "Go on": "继续",
  Freeze: "定格",
  "In each tick the model is run once for all: every answer gains a token, and a piece of the prompts is read.":
    "每个节拍为所有回答运行一次模型：每个回答增加一个词元，并读取一部分提示词。",
  "Nothing has been computed yet: {link} to see it.": "尚未计算任何内容：{link}即可看到。",
  "ask something in a chat": "在对话中提问",
  "The ticks of the last seconds; step through them with the arrow keys": "最近几秒的节拍；用方向键逐个查看",
  "No tick is chosen": "未选择节拍",
  "tokens of answers": "回答的词元",
  "tokens of prompts": "提示词的词元",
  "running the model (forward pass)": "运行模型（前向计算）",
  sampling: "采样",
  plugins: "插件",
  other: "其他",
  "Tokens in a tick": "节拍中的词元",
  "Its time": "用时",
  generated: "生成",
  "tokens/s": "词元/秒",
  prompts: "提示词",
  ticks: "节拍",
  "a second": "次/秒",
  slots: "槽位",
  "of {n} in use": "/ {n} 使用中",
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
