// SPDX-License-Identifier: MIT
// Hides words of a pattern, such as e-mail addresses, in the text that is shown.
// config: {"pattern": "\\S+@\\S+\\.\\w+"}
const hidden = new RegExp(config.pattern, "gu");
export function filter(text, last) {
  const [hold] = last ? [""] : /\S{0,80}$/u.exec(text); // its last word may go on
  return { show: text.slice(0, text.length - hold.length).replace(hidden, "[hidden]"), hold };
}
