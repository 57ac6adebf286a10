// SPDX-License-Identifier: MIT
import { useSignal } from "@preact/signals";
import type { Chat } from "../../chats/chat.ts";
import { sketch } from "../../media/sketch.ts";
import { parameterWords, tokens } from "../../text/figures.ts";
import { copyText } from "../clipboard.ts";
import { useApp } from "../context.ts";
import { takingOf } from "./attaching.ts";

const tasks = [
  "Explain how a plugin can change the tokens of an answer, with an example.",
  "Write a Python function that finds duplicate files in a folder, with tests.",
  "Draft a short, friendly mail that moves a meeting from Tuesday to Thursday.",
  "Compare SQLite and PostgreSQL for a small web shop in a table.",
];

// What the built-in model knows, and the one that sees.
const suggestions = [
  "Tell me a story about a frog.",
  "Give me four planets.",
  "What is a plugin?",
  "Write a Python function named square.",
];
const seen = "How many circles are there?";

/** What an empty chat shows. */
export function Welcome({ chat }: { chat: Chat }) {
  const app = useApp();
  const model = app.modelOf(chat.settings.value).model ?? app.models.value[0];
  const demonstration = model !== undefined && model === app.builtIn.value;
  const sees = demonstration && app.abilitiesOf(app.answering(chat.settings.value, true)).sees;
  return (
    <section class="welcome" aria-labelledby="welcome-title">
      <h2 id="welcome-title">What shall we talk about?</h2>
      <p>
        Here you can see how each word was chosen, pause an answer and steer it, and change how words are
        chosen with plugins.
      </p>
      {model !== undefined && <ModelLine model={model} />}
      {app.props.value.noTemplate === true && (
        <p class="untemplated" role="note">
          This model has no chat template, so its chats are written in ChatML. A base model may go on with
          your text instead of answering it; the server's option <code>--chat-template</code> sets another
          template.
        </p>
      )}
      <ul class="suggestions">
        {(demonstration ? suggestions : tasks).map((text) => (
          <li key={text}>
            <button type="button" onClick={() => chat.ask(text)}>
              {text}
            </button>
          </li>
        ))}
        {sees && <PictureQuestion chat={chat} />}
      </ul>
      {demonstration && <FirstRun sees={sees} />}
    </section>
  );
}

/** A first question about a drawing, which is sent with it. */
function PictureQuestion({ chat }: { chat: Chat }) {
  const app = useApp();
  const { side, circles, square, colors } = sketch;
  const ask = async () => {
    const { attach, sketchFile } = await import("../files/all.ts");
    const { files, problems } = await attach([await sketchFile()], [], takingOf(app, chat));
    if (problems.length === 0) chat.ask(seen, files);
    else app.notice.value = problems.join(" ");
  };
  return (
    <li>
      <button type="button" class="pictured" onClick={ask}>
        <svg viewBox={`0 0 ${side} ${side}`} role="img" aria-label="Drawing of three circles and a square">
          {circles.map(({ x, y, radius }) => (
            <circle key={x} cx={x} cy={y} r={radius} fill={colors.circle} />
          ))}
          <rect x={square.x} y={square.y} width={square.side} height={square.side} fill={colors.square} />
        </svg>
        {seen}
      </button>
    </li>
  );
}

/** The model's name, its size, and how much it can have in mind. */
function ModelLine({ model }: { model: string }) {
  const app = useApp();
  const { parameters = 0 } = app.served.value.find(({ name }) => name === model) ?? {};
  const context = app.contextOf(model);
  const words = [
    parameters > 0 ? `${parameterWords(parameters)} parameters` : "",
    context === undefined ? "" : `a context of ${tokens(context)}`,
  ].filter((word) => word !== "");
  return (
    <p class="answers">
      <strong>{model}</strong> answers{words.length > 0 && `: ${words.join(", ")}`}.
    </p>
  );
}

/** Says what the built-in model is, and how to load a real one. */
function FirstRun({ sees }: { sees: boolean }) {
  return (
    <aside class="first-run" aria-labelledby="first-run-title">
      <h3 id="first-run-title">This is the small demonstration model</h3>
      <p>
        It comes with Penstock so that you can try everything at once: chat, plugins, the inspector, the live
        view. It has learned short stories, a few facts and some code, and it makes up the rest.{" "}
        {sees && "A second one sees drawings of shapes and digits. "}For real work give Penstock a model of
        your own, a GGUF file:
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
