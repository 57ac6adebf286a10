// SPDX-License-Identifier: MIT
import type { Chat } from "../chat.ts";
import type { Change, Exchange } from "../conversation.ts";
import { byId, make } from "./dom.ts";
import { ExchangeView } from "./exchange.ts";
import type { Follower } from "./follower.ts";

// What the built-in model knows; any larger model knows it too.
const suggestions = [
  "Tell me a story about a frog.",
  "Give me four planets.",
  "What is a plugin?",
  "Write a Python function named square.",
];

/** All exchanges, or a welcome while there are none. */
export function showTranscript(chat: Chat, follower: Follower): void {
  const transcript = byId("transcript", HTMLElement);
  const welcome = byId("welcome", HTMLElement);
  const views = new Map<Exchange, ExchangeView>();
  const actions = { regenerate: () => chat.regenerate(), drawn: () => follower.follow() };

  chat.conversation.changes.listen((change: Change) => {
    switch (change.kind) {
      case "added": {
        const view = new ExchangeView(change.exchange, actions);
        for (const earlier of views.values()) earlier.update(false);
        views.set(change.exchange, view);
        transcript.append(view.element);
        follower.toEnd();
        break;
      }
      case "changed":
        views.get(change.exchange)?.update(true); // only the last one ever changes
        break;
      case "cleared":
        views.clear();
        transcript.replaceChildren();
        break;
    }
    welcome.hidden = views.size > 0;
  });

  byId("suggestions", HTMLUListElement).append(
    ...suggestions.map((text) => {
      const button = make("button", { type: "button", textContent: text });
      button.addEventListener("click", () => chat.send(text));
      return make("li", {}, button);
    }),
  );
}
