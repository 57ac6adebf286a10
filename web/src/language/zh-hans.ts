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
  "It cannot be read; a folder is no plugin.": "无法读取；文件夹不是插件。",
  "{plugin} is there already: the same file, byte for byte.": "{plugin} 已经存在：文件逐字节相同。",
  "Not uploaded: {plugin} stays as it was.": "未上传：{plugin} 保持原样。",
  "{plugin} is there.": "{plugin} 已就位。",
  "{plugin} has taken its predecessor's place.": "{plugin} 已取代旧版本。",
  "The server wants a key. Reload the page to enter it.": "服务器需要密钥。请重新加载页面后输入。",
  "Build it smaller, for example without debug information.": "请构建得更小一些，例如去掉调试信息。",
  "A plugin is a .wasm file; docs/plugins/go.md and docs/plugins/rust.md tell how to build one.":
    "插件是 .wasm 文件；构建方法见 docs/plugins/go.md 和 docs/plugins/rust.md。",
  "Its operator can take it out of plugins.default and plugins.policy_file.":
    "服务器的运营者可以将它从 plugins.default 和 plugins.policy_file 中移除。",
  "Try again in a moment.": "请稍后再试。",
  "This server requires it in {requests}; its operator has set it up.":
    "此服务器要求在{requests}中使用它；这由运营者设定。",
  "This server uses it in {requests} unless it is switched off or configured here.":
    "除非在此关闭或另行配置，此服务器会在{requests}中使用它。",
  requests: "请求",
  "requests to {models}": "发往 {models} 的请求",
  "requests by {routes}": "经由 {routes} 的请求",
  "requests to {models} by {routes}": "经由 {routes} 发往 {models} 的请求",
  Messages: "消息",
  "It rewrites the conversation before the prompt is made of it.": "在生成提示词之前改写对话。",
  Template: "模板",
  "It turns the conversation into the prompt.": "把对话变成提示词。",
  Constraint: "约束",
  "It allows, bans or weighs tokens before each choice.": "在每次选择之前允许、禁止词元或调整其权重。",
  Sampler: "采样器",
  "It changes the candidates or chooses the token.": "修改候选词元，或直接选择词元。",
  "Token watcher": "词元监视",
  "It sees each token, and may replace it or end the answer.": "查看每个词元，可以替换它或结束回答。",
  Program: "程序",
  "It writes the whole answer, from several continuations at once.": "同时利用多个续写，写出整个回答。",
  Guesses: "猜测",
  "It guesses the next tokens, which makes answers faster.": "猜测接下来的词元，使回答更快。",
  "kind of plugin|Stop": "停止",
  "It reads the new text, and may hold it back or end the answer.": "读取新文本，可以暂缓输出或结束回答。",
  Filter: "过滤",
  "It rewrites the text before it is shown.": "在显示之前改写文本。",
  "sees the whole vocabulary": "可见整个词表",
  "sees the {n} likeliest tokens": ["可见概率最高的 {n} 个词元"],
  "may take back {n} tokens, so text comes that much later": ["可撤回 {n} 个词元，文本会相应延后"],
  "may compute {n} more tokens than it keeps": ["计算的词元最多比保留的多 {n} 个"],
  "writes up to {n} continuations at once": "最多同时写 {n} 个续写",
  "{n} bytes": ["{n} 字节"],
  "Replace it with a built module, or remove the file.": "请替换为构建好的模块，或删除该文件。",
  "Give one of them another name, or remove one of the files.": "请给其中一个改名，或删除其中一个文件。",
  "Build it with an SDK: docs/plugins/go.md or docs/plugins/rust.md.":
    "请使用 SDK 构建：docs/plugins/go.md 或 docs/plugins/rust.md。",
  "Mend the module and copy it over this file: the server loads it by itself.":
    "请修复模块并覆盖此文件：服务器会自动加载。",
  "default {value}": "默认 {value}",
  "{one}; {other}": "{one}；{other}",
  "{low} to {high}": "{low} 到 {high}",
  "between {low} and {high}": "介于 {low} 和 {high} 之间",
  "at least {limit}": "至少 {limit}",
  "above {limit}": "大于 {limit}",
  "at most {limit}": "至多 {limit}",
  "below {limit}": "小于 {limit}",
  "{one}, {other}": "{one}，{other}",
  "at most {n} characters": ["至多 {n} 个字符"],
  "Add at least one {entry}.": "请至少添加一项：{entry}。",
  "Fill in {name}.": "请填写 {name}。",
  "Nothing may stand here.": "此处不能有内容。",
  "There is no field of this name.": "没有这个名称的字段。",
  "It fits none of the allowed forms.": "不符合任何允许的形式。",
  "It must fit exactly one of the allowed forms.": "必须恰好符合一种允许的形式。",
  "This is not allowed.": "不允许这样。",
  "a text": "文本",
  "a number": "数字",
  "a whole number": "整数",
  "yes or no": "是或否",
  "a list": "列表",
  "an object with named fields": "带命名字段的对象",
  "It must be {types}.": "必须是{types}。",
  "{one} or {other}": "{one}或{other}",
  "It must be {value}.": "必须是 {value}。",
  "It must be one of {values}.": "必须是以下之一：{values}。",
  "It must not be empty.": "不能为空。",
  "It needs at least {n} characters.": ["至少需要 {n} 个字符。"],
  "It may have at most {n} characters.": ["至多可有 {n} 个字符。"],
  "It is too large a number.": "数字太大。",
  "It must be at least {limit}.": "不能小于 {limit}。",
  "It must be at most {limit}.": "不能大于 {limit}。",
  "It must be above {limit}.": "必须大于 {limit}。",
  "It must be below {limit}.": "必须小于 {limit}。",
  "It must be a multiple of {limit}.": "必须是 {limit} 的倍数。",
  "It needs at least {n} entries.": ["至少需要 {n} 项。"],
  "It may have at most {n} entries.": ["至多可有 {n} 项。"],
  "Each entry may stand in it only once.": "每一项只能出现一次。",
  "It must match {pattern}": "必须匹配 {pattern}",
  // rules
  // scripts
  // settings
  Text: "文本",
  "The answer is free.": "回答不受限制。",
  "The answer is a JSON object.": "回答是一个 JSON 对象。",
  "JSON schema": "JSON 模式",
  "The answer is JSON that fits the schema, with its fields in your order.":
    "回答是符合该模式的 JSON，字段按所写的顺序排列。",
  Grammar: "语法",
  "The answer fits a grammar in GBNF, which begins with the rule root, or in Lark's notation after a line %llguidance {}.":
    "回答符合一个 GBNF 语法（以规则 root 开始），或一个 Lark 语法（首行为 %llguidance {}）。",
  "Regular expression": "正则表达式",
  "The whole answer matches it, in Go's syntax: Perl's without look-around.":
    "整个回答与它匹配，采用 Go 的写法：即不含环视的 Perl 写法。",
  "A person": "一个人",
  "A list of texts": "文本列表",
  "A choice": "选项",
  "Yes or no": "是或否",
  "A list": "列表",
  "A sum": "加法算式",
  "A date": "日期",
  "A few words": "几个单词",
  "Nothing is written yet, so the answer is free.": "尚未填写，因此回答不受限制。",
  'A grammar needs a rule with the name root, such as root ::= "Yes".':
    '语法需要一条名为 root 的规则，例如 root ::= "Yes"。',
  'A JSON schema is an object, such as {"type": "object"}.': 'JSON 模式是一个对象，例如 {"type": "object"}。',
  "This is not JSON yet: {problem}": "这还不是 JSON：{problem}",
  "It sees the whole vocabulary, so it must stand before {stage}, which drops tokens.":
    "它需要整个词表，因此必须放在会舍弃词元的 {stage} 之前。",
  Instructions: "指令",
  Script: "脚本",
  Tools: "工具",
  "{n} stop strings": ["{n} 个停止文本"],
  "Sampler chain": "采样链",
  "Template arguments": "模板参数",
  "Token record": "词元记录",
  Penalties: "惩罚",
  "Makes tokens less likely if they have occurred in the last part of the chat.":
    "降低对话最近部分中出现过的词元的概率。",
  "“Don't repeat yourself”: holds back tokens that would continue a phrase from earlier in the chat.":
    "“Don't repeat yourself”（不要重复）：抑制会重复对话中前文短语的词元。",
  "Keeps the tokens that stand out from the noise, at any temperature.":
    "保留明显高于噪声的词元，与温度无关。",
  "Keeps a fixed number of tokens.": "保留固定数量的词元。",
  "Keeps tokens that are neither too expected nor too surprising.":
    "保留既不太意料之中、也不太出人意料的词元。",
  "Keeps few tokens where the model is sure, and many where it is not.":
    "模型有把握时保留少量词元，没有把握时保留较多。",
  "Drops the tokens that are unlikely beside the best one.": "舍弃与最佳词元相比不太可能的词元。",
  "“Exclude top choices”: now and then takes the likeliest tokens away, for less worn words.":
    "“Exclude top choices”（排除首选）：不时去掉概率最高的词元，使用词不落俗套。",
  Temperature: "温度",
  "Decides how daring the choice among the remaining tokens is.": "决定在剩余词元中选择时有多大胆。",
  "Chooses the token at the end, so that the chosen ones are on average as likely as you say.":
    "在最后选择词元，使选中词元的平均概率等于设定值。",
  Infill: "填空",
  "For filling gaps in code: joins tokens that begin alike, and ends where the model is unsure.":
    "用于填补代码空缺：合并开头相同的词元，并在模型没有把握时结束。",
  off: "关闭",
  tokens: "词元",
  "the whole context": "整个上下文",
  "Low values keep to the likeliest tokens, high ones give rare tokens a chance.":
    "数值低时倾向于概率最高的词元，数值高时罕见词元也有机会。",
  "always the likeliest token": "总是选概率最高的词元",
  "Dynamic range": "动态范围",
  "The temperature moves up and down by this much: up where the model is unsure.":
    "温度上下浮动的幅度：模型没有把握时升高。",
  "Dynamic exponent": "动态指数",
  "How the temperature follows the model's doubt: above 1 it rises late, below 1 early.":
    "温度如何随模型的不确定性变化：大于 1 时升得晚，小于 1 时升得早。",
  "Keep at most": "最多保留",
  "Keeps this many of the likeliest tokens.": "保留这么多个概率最高的词元。",
  "Keep a share of": "保留比例",
  "Keeps the likeliest tokens that together have this probability.": "保留总概率达到此值的概率最高的词元。",
  "Drop below": "舍弃低于",
  "Drops tokens less likely than this share of the likeliest one.": "舍弃概率低于最高概率这一比例的词元。",
  "Keeps tokens about as surprising as usual, until they have this probability together.":
    "保留意外程度与平均相近的词元，直到总概率达到此值。",
  "Keep within": "保留范围",
  "Keeps tokens whose logits lie within this many standard deviations of the best.":
    "保留 logit 与最佳值相差不超过这么多个标准差的词元。",
  "How often": "频率",
  "How often the likeliest tokens are taken away, so that less expected ones are written.":
    "去掉概率最高的词元的频率，以便写出不那么意料之中的词。",
  Threshold: "阈值",
  "Only tokens at least this likely are taken away, and the least likely of them stays.":
    "只去掉概率不低于此值的词元，并保留其中概率最低的一个。",
  "Repeat penalty": "重复惩罚",
  "Above 1, tokens that have occurred become less likely.": "大于 1 时，出现过的词元概率降低。",
  "Presence penalty": "存在惩罚",
  "Is taken off the logit of every token that has occurred.": "从每个出现过的词元的 logit 中减去。",
  "Frequency penalty": "频率惩罚",
  "Is taken off the logit for each time that the token has occurred.":
    "词元每出现一次，就从其 logit 中减去一次。",
  "Look back": "回看",
  "How far back the penalties look.": "惩罚回看的范围。",
  Strength: "强度",
  "How strongly a token is held back that would go on with a repetition.": "对会延续重复的词元的抑制强度。",
  Growth: "增长",
  "The penalty is multiplied by this for every further token of the repetition.":
    "重复每多一个词元，惩罚就乘以此值。",
  "Allowed length": "允许长度",
  "Repetitions up to this length cost nothing.": "不超过此长度的重复不受惩罚。",
  "How far back repetitions are looked for.": "查找重复时回看的范围。",
  "Sequence breakers": "序列分隔符",
  "A repetition never goes on across one of these texts.": "重复不会跨越这些文本。",
  Target: "目标",
  "The probability that the chosen tokens should have on average.": "选中词元应有的平均概率。",
  "of an average|Memory": "记忆",
  "How slowly earlier tokens are forgotten in that average.": "在该平均值中遗忘较早词元的快慢。",
  "Steers towards one level of surprise, in place of the stages that drop tokens.":
    "将意外程度控制在同一水平，代替会舍弃词元的环节。",
  Surprise: "意外程度",
  "The surprise to keep to: low values write what is expected.":
    "要保持的意外程度：数值低时写意料之中的内容。",
  "Learning rate": "学习率",
  "How fast it steers back.": "回调的速度。",
  "Keep at least": "至少保留",
  "No stage leaves fewer tokens than this to choose from.": "任何环节留下的可选词元都不少于此数。",
  Seed: "随机种子",
  "The same request with the same seed has the same answer. Without one, each answer is another.":
    "相同的请求和相同的种子得到相同的回答。不设种子则每次回答都不同。",
  Length: "长度",
  "The answer is cut after this many tokens (max_tokens).": "回答达到这么多词元后被截断（max_tokens）。",
  "Go on to the limit": "写到上限为止",
  "The model cannot end its answer by itself.": "模型不能自行结束回答。",
  "Time limit": "时间限制",
  "An answer that takes longer ends with an error.": "超时的回答以错误结束。",
  Priority: "优先级",
  "Who goes first when many wait: one step counts as 10 s of waiting. Above 0 the server wants a key for it.":
    "排队时谁先处理：每一级相当于等待 10 秒。大于 0 时服务器要求密钥。",
  "Reuse computed prompts": "复用已计算的提示词",
  "What this chat has in common with earlier prompts is not computed again.":
    "与先前提示词相同的部分不再重新计算。",
  "Reasoning budget": "思考预算",
  "After this many tokens of reasoning the model has to answer.": "思考这么多词元后，模型必须回答。",
  "no limit": "无限制",
  "no reasoning": "不思考",
  "Last words of the reasoning": "思考的结束语",
  "Stands at the end of a reasoning that was cut by its budget.": "思考因预算被截断时，放在其末尾。",
  "Reasoning effort": "思考力度",
  "A level that the model's template knows, such as low or high; none asks it not to reason.":
    "模型模板支持的级别，例如 low 或 high；none 表示不思考。",
  "{value} ({unit})": "{value}（{unit}）",
  "It must be a whole number of at least {low}.": "必须是不小于 {low} 的整数。",
  "It must be a number of at least {low}.": "必须是不小于 {low} 的数字。",
  "It must be a whole number from {low} to {high}.": "必须是 {low} 到 {high} 的整数。",
  "It must be a number from {low} to {high}.": "必须是 {low} 到 {high} 的数字。",
  on: "开启",
  Balanced: "均衡",
  "The server's own values.": "服务器自己的数值。",
  Precise: "精确",
  "Always the likeliest token: the same answer each time.": "总是选概率最高的词元：每次回答都相同。",
  Creative: "创意",
  "A higher temperature, with the unlikely tail cut off relative to the best token.":
    "温度较高，并相对最佳词元截去不太可能的部分。",
  Varied: "多样",
  "DRY against phrases that come again, XTC against the most expected words.":
    "用 DRY 避免重复的短语，用 XTC 避免最意料之中的词。",
  "There are no presets in this file.": "此文件中没有预设。",
  Normal: "普通",
  "Chain of thought": "思维链",
  "Monte Carlo": "蒙特卡罗",
  "Token healing": "词元修复",
  Vote: "投票",
  "Look-ahead": "前瞻",
  "Best of several": "多选一",
  "Best of {n}": "{n} 选一",
  "{n} side by side": "{n} 个并排",
  "as this chat is set": "按此对话的设置",
  "temperature {value}": "温度 {value}",
  "with {plugin}": "使用 {plugin}",
  // text
  // tools
  // trace
  // view
  // view/chat
  // view/files
  // view/finder
  // view/form
  needed: "必填",
  "{limits}.": "{limits}。",
  "Set {field}": "设置 {field}",
  "Remove {what}": "移除 {what}",
  "There is nothing to set.": "没有可设置的内容。",
  "{path}: {problem} Remove it under “Edit as JSON”.": "{path}：{problem}可在“以 JSON 编辑”中移除。",
  Yes: "是",
  "{value} (default)": "{value}（默认）",
  'It must be an object, such as {"name": 1}.': '必须是对象，例如 {"name": 1}。',
  "each {limits}": "每项{limits}",
  "{n} more entries can be edited as JSON.": ["另有 {n} 项可以用 JSON 编辑。"],
  "Add to {list}": "添加到 {list}",
  Add: "添加",
  "Add at least one.": "请至少添加一项。",
  "Move {entry} up": "上移 {entry}",
  Up: "上移",
  "Move {entry} down": "下移 {entry}",
  Down: "下移",
  Remove: "移除",
  Configuration: "配置",
  "Edit as a form": "以表单编辑",
  "Edit as JSON": "以 JSON 编辑",
  // view/inspector
  // view/live
  // view/models
  // view/palette
  // view/plugins
  "Files that could not be loaded": "无法加载的文件",
  "No plugins yet": "还没有插件",
  "A plugin takes over one decision of an answer: how the prompt is written, which token comes next, or when the answer ends. It runs in a sandbox with limits of time and memory, and a fault in it ends one answer at most.":
    "插件接管回答中的一个决定：提示词怎么写、下一个词元是什么，或回答何时结束。它在限制时间和内存的沙箱中运行，其故障最多只会结束一个回答。",
  "Build those that come with the server, and start it with them:":
    "构建服务器自带的插件，并随之启动服务器：",
  "Or drop a .wasm file here. To write one in Go or Rust takes five minutes: {go}, {rust}.":
    "也可以把 .wasm 文件拖放到这里。用 Go 或 Rust 编写只需五分钟：{go}、{rust}。",
  "This server takes no changes over the network": "此服务器不接受通过网络进行的更改",
  "It was started without an admin key. Whoever runs it can start it with one:":
    "它启动时没有设置管理员密钥。运营者可以这样带密钥启动：",
  "Or copy the .wasm file into its plugin folder ({option}, by default {folder}). The server finds it there within a second, and it appears here by itself.":
    "也可以把 .wasm 文件复制到它的插件文件夹（{option}，默认为 {folder}）。服务器会在一秒内发现它，并自动显示在这里。",
  "No plugins here": "此处没有插件",
  "This server runs no plugins": "此服务器不运行插件",
  "It may be an older version, or another server than Penstock behind this page.":
    "可能是旧版本，或者此页面背后不是 Penstock 服务器。",
  "{quarantined} Whoever made it fault again and again has to wait before using it again; others use it as before.":
    "{quarantined}反复使它出故障的用户需要等待才能再次使用；其他人照常使用。",
  "Quarantined.": "已隔离。",
  "It has faulted {n} times.": ["它出过 {n} 次故障。"],
  "End the quarantine": "解除隔离",
  "Forget the faults": "清除故障记录",
  "The last time was at {time}.": "最近一次在 {time}。",
  "The last time was on {time}.": "最近一次在 {time}。",
  "Takes part as": "参与方式",
  "The file has changed and cannot be loaded, so the plugin from before stays in use: {error}":
    "文件已更改且无法加载，因此继续使用之前的插件：{error}",
  "It cannot be used with the model {model}: {error}": "不能用于模型 {model}：{error}",
  "Configure and try": "配置并试用",
  "comes with the server": "服务器自带",
  "The server's configuration has every request use it (plugins.default).":
    "服务器的配置让每个请求都使用它（plugins.default）。",
  "In every request": "用于每个请求",
  Quarantined: "已隔离",
  Ready: "就绪",
  "SHA-256 {hash}: copy": "SHA-256 {hash}：复制",
  copied: "已复制",
  "To change the plugins": "要更改插件",
  Plugins: "插件",
  "Sandboxed WebAssembly modules that write the prompt, choose tokens and end answers.":
    "在沙箱中运行的 WebAssembly 模块，用来编写提示词、选择词元和结束回答。",
  "Loading…": "加载中…",
  "Drop the .wasm files here": "将 .wasm 文件拖放到这里",
  "You tell short stories.": "你会讲短故事。",
  "Tell me about a frog.": "讲一只青蛙的故事。",
  "A frog sat on a stone.": "一只青蛙坐在石头上。",
  "And then?": "然后呢？",
  "Prompt preview": "提示词预览",
  "The prompt": "提示词",
  "This chat, up to its last question, as the model would get it.":
    "此对话截至最后一个提问，即模型会收到的样子。",
  "An example conversation, as the model would get it.": "示例对话，即模型会收到的样子。",
  "The model’s own template": "模型自带的模板",
  "Prompt of {template}": "{template} 的提示词",
  "One special token": "一个特殊词元",
  "{n} more tokens are not shown.": ["另有 {n} 个词元未显示。"],
  "Remove {plugin}?": "移除 {plugin}？",
  "This deletes {file} on the server. It cannot be undone. Chats that use the plugin go on without it.":
    "这会删除服务器上的 {file}，且无法撤销。使用该插件的对话将不再使用它。",
  Cancel: "取消",
  "Try {plugin}": "试用 {plugin}",
  "Try it": "试用",
  "A question to try it with": "用于试用的提问",
  Stop: "停止",
  Try: "试一试",
  "Asked in “{chat}”, in the place of its last question.": "在“{chat}”中提出，代替其最后一个提问。",
  "Without {plugin}": "不使用 {plugin}",
  "With {plugin}": "使用 {plugin}",
  "Tell me a story about a frog.": "给我讲一个青蛙的故事。",
  "Both are the same: here the plugin had nothing to change.": "两者相同：这里插件没有需要改动的地方。",
  "This chat uses it already.": "此对话已在使用它。",
  "Do you like it? Switch it on with “Use in this chat”.": "满意吗？可用“在此对话中使用”开启。",
  Upload: "上传",
  "Plugin files": "插件文件",
  Uploads: "上传列表",
  "Dismiss {what}": "关闭 {what}",
  Dismiss: "关闭",
  "Waiting for its turn…": "等待处理…",
  "{file} is being sent": "正在发送 {file}",
  "The server checks it…": "服务器正在检查…",
  "Replace {plugin}?": "替换 {plugin}？",
  "There is a plugin {name} already. Answers that run keep the one they began with.":
    "已经有名为 {name} 的插件。进行中的回答继续使用开始时的版本。",
  Now: "当前",
  "not known": "未知",
  New: "新的",
  Replace: "替换",
  "Keep the old one": "保留旧的",
  "Use in this chat": "在此对话中使用",
  "The chat that is open; it has no messages yet.": "当前打开的对话，还没有消息。",
  "“{title}”": "“{title}”",
  "Use in new chats": "在新对话中使用",
  "Chats that you begin from now on.": "从现在起开始的对话。",
  "Open the chat": "打开对话",
  "Do without it in this chat": "在此对话中不使用",
  "Every request to this server uses it; its operator has set that.":
    "发往此服务器的每个请求都使用它；这由运营者设定。",
  "First complete the configuration. {problem}": "请先完成配置。{problem}",
  "And {n} more.": ["另有 {n} 项。"],
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
