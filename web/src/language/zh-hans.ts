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
  // tools
  // trace
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
