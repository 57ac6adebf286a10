// SPDX-License-Identifier: MIT

// The texts of the page in Chinese, as it is written in China and Singapore, by folder of the source: a text that two folders have stands
// with the first.
export default {
  // the page
  // chats
  // host
  // live
  // media
  "cannot see pictures": "无法查看图片",
  "cannot see pictures and hear sounds": "无法查看图片，也无法收听声音",
  "cannot hear sounds": "无法收听声音",
  "{model} {cannot}. Remove what it cannot take, or choose another model in Settings.":
    "{model} {cannot}。请移除它无法处理的内容，或在设置中选择其他模型。",
  "This chat has more pictures and sounds than the server takes. Begin a new chat.":
    "此对话中的图片和声音超出了服务器的限制。请开始新对话。",
  "{model} {cannot}: of those in this chat it is told the names only.":
    "{model} {cannot}：它只会得知此对话中这些文件的名称。",
  "it has more text than the files of a message can have together.":
    "其文本超出了一条消息中所有文件的总限额。",
  "it cannot be read: it may be damaged.": "无法读取：文件可能已损坏。",
  "it cannot be read: {error}.": "无法读取：{error}。",
  "it is an archive, and no office file. Unpack it, and add what is in it.":
    "这是压缩包，不是办公文档。请解压后添加其中的文件。",
  "it takes too long to read.": "读取时间过长。",
  "the code that reads PDFs stopped, or could not be loaded. If the server was updated meanwhile, reload the page.":
    "读取 PDF 的代码已中止或无法加载。如果服务器刚刚更新过，请重新加载页面。",
  "it is locked with a password. Save it without one, and add that.":
    "文件受密码保护。请另存为无密码的文件后再添加。",
  "it has {n} pages, and a PDF can have {most}.": "它有 {n} 页，而 PDF 最多可有 {most} 页。",
  // plugins
  // rules
  // scripts
  // settings
  // text
  // tools
  "it wants more than {n} requests": "它需要超过 {n} 次请求",
  "it sends more than {mb} MB": "它发送的数据超过 {mb} MB",
  "It is no JSON: {error}.": "这不是 JSON：{error}。",
  "There is no function in it.": "其中没有函数。",
  "A chat can have {n} functions.": "一个对话最多可有 {n} 个函数。",
  '{path}name must be 1 to 64 letters, digits, "_" and "-".':
    "{path}name 必须由 1 到 64 个字母、数字、“_”和“-”组成。",
  "{path}description must be a text.": "{path}description 必须是文本。",
  "{path}parameters must be a JSON schema of an object.": "{path}parameters 必须是对象的 JSON Schema。",
  "it wants another token, or one at all": "它需要另一个令牌，或者需要提供令牌",
  "there is no MCP server for Streamable HTTP at this address":
    "此地址上没有支持 Streamable HTTP 的 MCP 服务器",
  "it does not answer this page: it is not running, or does not allow pages of {origin} (CORS)":
    "它没有响应此页面：可能未运行，或不允许来自 {origin} 的页面访问 (CORS)",
  "the code that talks to MCP servers could not be loaded. If Penstock was updated meanwhile, reload the page":
    "无法加载与 MCP 服务器通信的代码。如果 Penstock 刚刚更新过，请重新加载页面",
  "it was stopped": "已停止",
  "the arguments are no JSON object": "参数不是 JSON 对象",
  "it wants you to sign in: do so under Tools in the settings": "它要求登录：请在设置的“工具”中登录",
  "the sign-in was declined": "登录被拒绝",
  "the sign-in failed: {reason}": "登录失败：{reason}",
  "the token that it gives cannot be used": "它提供的令牌无法使用",
  "its sign-in sends more than {kb} KB": "其登录服务发送的数据超过 {kb} KB",
  "it wants a token, and signing in for one needs https, which {place} has not":
    "它需要令牌，而登录获取令牌需要 https，但 {place} 不支持",
  "the sign-in is too old: begin it once more": "登录已过期：请重新开始",
  "the sign-in came back from another server": "登录结果来自另一台服务器",
  "the page cannot register itself there. Register it with the redirect address {url}":
    "此页面无法在那里自行注册。请使用重定向地址 {url} 进行注册",
  // trace
  // view
  // view/chat
  // view/files
  // view/finder
  // view/form
  // view/inspector
  Candidates: "候选词元",
  "The candidates that the model and each stage left, with their probabilities":
    "模型和各阶段保留的候选词元及其概率",
  Candidate: "候选词元",
  "Show stages that changed nothing": "显示未作更改的阶段",
  "{n} left": "剩余 {n} 个",
  "{percent} of the time": "占时间的 {percent}",
  "(chosen)": "（已选）",
  "cut before": "之前已去除",
  "not drawn": "未被抽中",
  "candidate|cut": "去除",
  "further behind": "排名靠后",
  "up to {rank}": "升至第 {rank}",
  "down to {rank}": "降至第 {rank}",
  Compare: "比较",
  "Compare with": "比较对象",
  nothing: "无",
  "version {n} of this answer": "此回答的第 {n} 版",
  "Write another,": "另写一个，",
  "Write another, same seed,": "另写一个，使用相同的随机种子，",
  "Write and compare": "生成并比较",
  "That answer has no token record, so there is nothing to compare.": "那个回答没有词元记录，因此无法比较。",
  "Version {n}": "第 {n} 版",
  "Tokens of version {n}": "第 {n} 版的词元",
  "The token in focus of version {n}": "第 {n} 版中选中的词元",
  "All {n} tokens are the same.": "全部 {n} 个词元都相同。",
  "the end": "结尾",
  "They part at token {n}: {one} on one side, {other} on the other.":
    "它们在第 {n} 个词元处分开：一边是 {one}，另一边是 {other}。",
  "Side by side": "并排",
  Speed: "速度",
  "{rate} tokens/s": "{rate} 词元/秒",
  unknown: "未知",
  Seed: "随机种子",
  "Branches so far": "目前的分支",
  "Previous change": "上一处更改",
  "Next change": "下一处更改",
  "Press {inspect} below an answer to see how each of its tokens was chosen.":
    "点按回答下方的{inspect}，即可查看每个词元是如何选出的。",
  Inspect: "检查",
  "Looking for the token record…": "正在查找词元记录…",
  "Tokens of the answer": "回答的词元",
  Probability: "概率",
  Stage: "阶段",
  Plugin: "插件",
  "How likely the model found each token.": "模型认为每个词元的可能性。",
  "The stage that decided against the model’s first choice. Plain tokens are that first choice.":
    "否决模型首选的阶段。无颜色的词元就是模型的首选。",
  "Who chose, changed or took back tokens. In plain ones no plugin had a hand.":
    "由谁选择、更改或撤回词元。无颜色的词元没有插件参与。",
  "Colour by": "着色依据",
  Legend: "图例",
  alive: "存活",
  "kept to the end": "保留到最后",
  "the answer": "回答",
  dropped: "已舍弃",
  "Show dropped branches": "显示已舍弃的分支",
  "A program writes this answer.": "此回答正由程序生成。",
  "A program wrote this answer.": "此回答由程序生成。",
  "It has opened {n} branches with {tokens} in all.": ["它打开了 {n} 个分支，共 {tokens}。"],
  "{n} branches still live.": ["仍有 {n} 个分支存活。"],
  "The answer’s score is {score}.": "回答的得分是 {score}。",
  "The score is the sum of the log-probabilities of all tokens from the prompt on: the nearer to 0, the likelier the model finds that text.":
    "得分是提示之后所有词元的对数概率之和：越接近 0，模型认为该文本越有可能。",
  Branches: "分支",
  "Show {n} rows before these": "显示之前的 {n} 行",
  "{standing}, score": "{standing}，得分",
  "{percent} for a typical token": "典型词元 {percent}",
  "The branch in focus": "选中的分支",
  "Branch {name}": "分支 {name}",
  "score {score}": "得分 {score}",
  "and {tokens} more": "以及另外 {tokens}",
  "choice {numbers}": "选项 {numbers}",
  "The answer in numbers": "回答的数据",
  "Token records stay in this browser: those of the first {first} tokens of an answer, and of the newest answers up to {all} tokens. They go with their chat.":
    "词元记录保存在此浏览器中：每个回答的前 {first} 个词元，以及最新的回答，总共最多 {all} 个词元。它们会随对话一起删除。",
  Tokens: "词元",
  "{n}, {traced} with a record": "{n}，其中 {traced} 个有记录",
  "Probability of a typical token": "典型词元的概率",
  "Tokens that a plugin or you changed": "插件或您更改的词元",
  "Tokens taken back": "撤回的词元",
  "Choosing a token takes": "选择一个词元耗时",
  Stages: "阶段",
  "Time for a token, on average": "每个词元的平均用时",
  Share: "占比",
  Time: "时间",
  "The token in focus": "选中的词元",
  "token {n} of {all}": "第 {n} 个词元，共 {all} 个",
  "taken back before token {n} of {all}": "在第 {n} 个词元（共 {all} 个）之前撤回",
  "Previous token": "上一个词元",
  "Next token": "下一个词元",
  "{label} (arrow keys in the text)": "{label}（文本中的方向键）",
  "Choosing it took {time}, after the model’s pass.": "选择它用了 {time}（在模型计算之后）。",
  others: "其他",
  "{word}, taken back by {who}": "{word}，由 {who} 撤回",
  "This answer has no token record.": "此回答没有词元记录。",
  "A token record tells of each token what the model found likely, what every stage and plugin made of it, what was taken back, and how long all that took. It costs a little speed and about 5 KB a token, so it is off until you want it.":
    "词元记录会说明：对每个词元，模型认为哪些可能、各阶段和插件如何处理、撤回了什么，以及各用了多长时间。它会略微降低速度，每个词元约占 5 KB，因此默认关闭。",
  "Answer again with a token record": "重新回答并记录词元",
  "With the same seed the answer stays the same.": "使用相同的随机种子，回答保持不变。",
  "From then on this chat keeps token records; you can switch that off in Settings.":
    "此后该对话会保存词元记录；您可以在设置中关闭。",
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
  "{server} works on it, as another tab has asked…": "{server} 正在处理另一个标签页的请求…",
  "The server": "服务器",
  "{server} works on it…": "{server} 正在处理…",
  "Stop {name}": "停止 {name}",
  "Answer to {name}": "对 {name} 的回答",
  "Your answer": "您的回答",
  "Error of {server}": "{server} 的错误",
  "Answer of {server}": "{server} 的回答",
  "(nothing)": "（无）",
  "{server} was interrupted: it may have done what was asked.": "{server} 被中断：它可能已经完成了请求。",
  "May {server} ({host}) run {tool} with these arguments?":
    "是否允许 {server} ({host}) 使用这些参数运行 {tool}？",
  "Allow once": "允许一次",
  "Always allow": "始终允许",
  "Answer it yourself": "自行回答",
  Decline: "拒绝",
  "What {name} answers": "{name} 的回答",
  "Send answer": "发送回答",
  "Go on with this": "据此继续",
  'The name must be 1 to 64 letters, digits, "_" and "-".': "名称必须由 1 到 64 个字母、数字、“_”和“-”组成。",
  "It has more than the form can show.": "其内容超出了表单所能显示的范围。",
  "New function": "新函数",
  "Function {name}": "函数 {name}",
  Name: "名称",
  "What it does": "用途",
  "The function as JSON": "函数的 JSON",
  Save: "保存",
  "Edit as JSON": "以 JSON 编辑",
  "Edit as a form": "以表单编辑",
  Cancel: "取消",
  Parameters: "参数",
  "placeholder|name": "名称",
  "Name of parameter {n}": "参数 {n} 的名称",
  "Type of parameter {n}": "参数 {n} 的类型",
  required: "必填",
  "Remove parameter {n}": "移除参数 {n}",
  "what it means": "含义",
  "Meaning of parameter {n}": "参数 {n} 的含义",
  "Add a parameter": "添加参数",
  "Connecting…": "正在连接…",
  "It has neither resources nor prompts.": "它既没有资源也没有提示。",
  "Reading…": "正在读取…",
  "{name} is added to the message.": "{name} 已添加到消息中。",
  "{name} is in the message field.": "{name} 已填入消息框。",
  "Show resources and prompts": "显示资源和提示",
  Refresh: "刷新",
  "Stop asking {server}": "停止询问 {server}",
  Prompts: "提示",
  Resources: "资源",
  "Add {name}": "添加 {name}",
  Add: "添加",
  "Use {name}": "使用 {name}",
  Use: "使用",
  "{parameter} of {prompt}": "{prompt} 的 {parameter}",
  "{parameter} (optional)": "{parameter}（可选）",
  "{server} wants you to sign in:": "{server} 要求登录：",
  "Sign in at {host}": "在 {host} 登录",
  "The chat template of this model knows no tools: it is not told of them.":
    "此模型的对话模板不支持工具：模型不会得知它们。",
  "MCP servers": "MCP 服务器",
  "Their tools answer what the model calls. You are asked before each runs.":
    "它们的工具会响应模型的调用。每次运行前都会征求您的同意。",
  "{n} tools": ["{n} 个工具"],
  "Its tools": "它的工具",
  "Remove {name}": "移除 {name}",
  "Sign out of {server}": "从 {server} 退出登录",
  "It runs without a question.": "无需询问即可运行。",
  "Ask before {name} runs": "运行 {name} 前先询问",
  "The address must begin with http:// or https://.": "地址必须以 http:// 或 https:// 开头。",
  "this browser keeps {n} servers: remove one first": "此浏览器最多保存 {n} 个服务器：请先移除一个",
  "The server was not added: {problem}.": "未添加服务器：{problem}。",
  Address: "地址",
  "Token, if it wants one": "令牌（如果需要）",
  "Client ID": "客户端 ID",
  "Add server": "添加服务器",
  "Stop connecting": "停止连接",
  Functions: "函数",
  "You answer what the model calls, below its answer.": "您在模型的回答下方响应其调用。",
  "Edit {name}": "编辑 {name}",
  "Add a function": "添加函数",
};
