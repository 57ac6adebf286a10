// SPDX-License-Identifier: MIT
import type { Chat } from "../../chats/chat.ts";

// What the built-in model knows; any larger model knows it too.
const suggestions = [
  "Tell me a story about a frog.",
  "Give me four planets.",
  "What is a plugin?",
  "Write a Python function named square.",
];

/** What an empty chat shows. */
export function Welcome({ chat }: { chat: Chat }) {
  return (
    <section class="welcome" aria-labelledby="welcome-title">
      <h2 id="welcome-title">What shall we talk about?</h2>
      <p>
        Each token travels from the model to this page the moment it is chosen. Try one of these, or ask your
        own.
      </p>
      <ul>
        {suggestions.map((text) => (
          <li key={text}>
            <button type="button" onClick={() => chat.ask(text)}>
              {text}
            </button>
          </li>
        ))}
      </ul>
    </section>
  );
}
