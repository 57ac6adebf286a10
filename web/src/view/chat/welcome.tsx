// SPDX-License-Identifier: MIT
import { useSignal } from "@preact/signals";
import { useApp } from "../../app.ts";
import type { Chat } from "../../chats/chat.ts";
import { copyText } from "../clipboard.ts";

// What the built-in model knows; any larger model knows it too.
const suggestions = [
  "Tell me a story about a frog.",
  "Give me four planets.",
  "What is a plugin?",
  "Write a Python function named square.",
];

/** What an empty chat shows. */
export function Welcome({ chat }: { chat: Chat }) {
  const app = useApp();
  const model = app.modelOf(chat.settings.value).model ?? app.models.value[0];
  const demonstration = model !== undefined && model === app.builtIn.value;
  return (
    <section class="welcome" aria-labelledby="welcome-title">
      <h2 id="welcome-title">What shall we talk about?</h2>
      <p>
        Each token travels from the model to this page the moment it is chosen. Try one of these, or ask your
        own.
      </p>
      <ul class="suggestions">
        {suggestions.map((text) => (
          <li key={text}>
            <button type="button" onClick={() => chat.ask(text)}>
              {text}
            </button>
          </li>
        ))}
      </ul>
      {demonstration && <FirstRun />}
    </section>
  );
}

/** Says what the built-in model is, and how to load a real one. */
function FirstRun() {
  return (
    <aside class="first-run" aria-labelledby="first-run-title">
      <h3 id="first-run-title">This is the small demonstration model</h3>
      <p>
        It comes with Penstock so that you can try everything at once: chat, plugins, the inspector, the live
        view. It has learned short stories, a few facts and some code, and it makes up the rest. For real work
        give Penstock a model of your own, a GGUF file:
      </p>
      <Command text="bin/penstock serve path/to/model.gguf" />
      <p>Or have it fetch one from Hugging Face, then serve it by its name:</p>
      <Command text="bin/penstock model pull OWNER/NAME:Q4_K_M" />
    </aside>
  );
}

/** A command for a terminal, and a button that copies it. */
function Command({ text }: { text: string }) {
  const said = useSignal("Copy");
  const copy = () =>
    copyText(text).then(
      () => {
        said.value = "Copied";
      },
      () => {
        said.value = "Select the text to copy it";
      },
    );
  return (
    <div class="command">
      <code>{text}</code>
      <button type="button" class="quiet" aria-label={`Copy ${text}`} onClick={copy}>
        <span aria-live="polite">{said}</span>
      </button>
    </div>
  );
}
