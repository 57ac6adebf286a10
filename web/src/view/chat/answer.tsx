// SPDX-License-Identifier: MIT

// An answer in the chat: text, reasoning, tool calls, and the buttons below.
import { type ReadonlySignal, type Signal, useComputed, useSignal } from "@preact/signals";
import { canGoOn } from "../../chats/answerfacts.ts";
import { type Message, mediaOf } from "../../chats/message.ts";
import { t, tn } from "../../language/language.ts";
import { cannot } from "../../media/medianotice.ts";
import { jsonAsCode } from "../../text/jsoncode.ts";
import { useApp } from "../appcontext.ts";
import { Icon } from "../icon.tsx";
import { Lazy } from "../lazy.tsx";
import { ModelButton } from "../models/modelbutton.tsx";
import { AnswerProblem, problemOf } from "./answerproblem.tsx";
import { FactsLine } from "./factsline.tsx";
import { focusField } from "./focus.ts";
import { CopyAction, MessageAction } from "./messageaction.tsx";
import { MessageEditor } from "./messageeditor.tsx";
import type { MessageProps } from "./messageprops.ts";
import { PluginOutputs } from "./pluginoutputs.tsx";
import { Prose } from "./prose.tsx";
import { Reasoning } from "./reasoning.tsx";
import { useRemove } from "./removemessage.ts";
import { ToolCalls } from "./toolcalls.tsx";
import { stepOnArrow, Versions } from "./versions.tsx";

/**
 * What the model answered. It is not drawn anew with each token: what changes then are the signals
 * of its parts.
 */
export function Answer(props: MessageProps) {
  const { chat, id, editing } = props;
  const node = chat.tree.node(id);
  const phase = useComputed(() => node.value.answer?.phase ?? "done");
  const done = useComputed(() => phase.value === "done");
  const text = useComputed(() => jsonAsCode(node.value.content, done.value));
  const app = useApp();
  const error = useComputed(() => problemOf(app, node.value));
  const roads = useSignal(false); // the words that might have been others are shown
  return (
    // A screen reader waits for the end instead of reading single tokens.
    <article
      class="message answer"
      aria-label={t("Answer")}
      data-message={id}
      data-phase={phase}
      aria-busy={!done.value}
      onKeyDown={stepOnArrow(chat, id)}
    >
      <Reasoning node={node} done={done} />
      {editing.value === id ? <AnswerEditor {...props} /> : <Prose text={text} done={done} />}
      {!done.value && <Growth id={id} node={node} />}
      {done.value && roads.value && (
        <Lazy load={roadsView} with={{ chat, id, close: () => (roads.value = false) }} />
      )}
      <ToolCalls chat={chat} node={node} done={done} />
      <PluginOutputs node={node} />
      {error.value !== undefined && <AnswerProblem {...props} error={error.value} />}
      <div class="tools">
        {done.value && editing.value !== id && <AnswerTools {...props} roads={roads} />}
        <Versions chat={chat} id={id} />
        {done.value && editing.value !== id && <GoOn {...props} />}
        {!done.value && <Watch id={id} node={node} />}
        <FactsLine node={node} />
      </div>
    </article>
  );
}

const roadsView = () => import("../roads/roadsview.tsx");
const growingTree = () => import("../inspector/growingtree.tsx");

interface Running {
  id: string;
  node: ReadonlySignal<Message>;
}

/** Whether a program writes the answer, of whose branches something is known. */
function useBranches({ id, node }: Running): ReadonlySignal<boolean> {
  const { answers } = useApp();
  return useComputed(() => {
    void node.value; // changes with what its run is told
    return (answers.running.value.get(id)?.changes.length ?? 0) > 0;
  });
}

/** While a program has shown nothing of an answer: its branches, which grow. */
function Growth({ id, node }: Running) {
  const branches = useBranches({ id, node });
  const empty = useComputed(() => node.value.content === "" && (node.value.reasoning ?? "") === "");
  return branches.value && empty.value ? <Lazy load={growingTree} with={{ id }} /> : null;
}

/** While a program writes an answer: the way to its branches. */
function Watch({ id, node }: Running) {
  const { drawer } = useApp();
  const branches = useBranches({ id, node });
  const inspect = () => {
    drawer.value = { kind: "inspector", message: id, token: 0 };
  };
  if (!branches.value) return null;
  return (
    <MessageAction
      icon="inspect"
      name={t("Inspect")}
      words
      title={t("How its branches grow")}
      onClick={inspect}
    />
  );
}

/** Has the model go on with an answer that was cut. */
function GoOn({ chat, id }: MessageProps) {
  const app = useApp();
  const message = chat.tree.node(id).value;
  const { content, reasoning = "", calls = [], answer } = message;
  if (problemOf(app, message) !== undefined) return null; // the button stands with the problem
  if (answer === undefined || calls.length > 0 || !canGoOn(answer, content + reasoning)) return null;
  const goOn = () => {
    chat.goOn(id);
    focusField();
  };
  return <MessageAction icon="goOn" name={t("Continue")} words onClick={goOn} />;
}

/**
 * What can be done with an answer. It comes first in its line, and what is always there before what
 * is not: a button stays under the pointer that has pressed it.
 */
function AnswerTools({ chat, id, editing, roads }: MessageProps & { roads: Signal<boolean> }) {
  const app = useApp();
  const { drawer } = app;
  const { content, reasoning = "", answer } = chat.tree.node(id).value;
  const failed = problemOf(app, chat.tree.node(id).value) !== undefined; // then the buttons stand with the problem
  const remove = useRemove(chat, id);
  const models = app.models.value;
  const others = models.length < 2 ? [] : models.filter((model) => model !== answer?.model);
  const media = mediaOf(chat.tree.upTo(id));
  const lacks = (model: string) => cannot(app.abilitiesOf(model), media);
  const again = () => {
    chat.answerAgain(id);
    focusField();
  };
  const edit = () => {
    editing.value = id;
  };
  const inspect = () => {
    drawer.value = { kind: "inspector", message: id, token: 0 };
  };
  return (
    <span class="actions">
      {!failed && <MessageAction icon="again" name={t("Regenerate")} onClick={again} />}
      {others.length > 0 && (
        <ModelButton
          class="action"
          label={t("Answer with another model")}
          {...(answer?.model !== undefined && { without: answer.model })}
          noteOf={lacks}
          choose={(model) => chat.answerAgain(id, { ...chat.settings.peek(), model })}
        >
          <Icon name="models" />
        </ModelButton>
      )}
      {content !== "" && <CopyAction text={() => content} />}
      <MessageAction icon="edit" name={t("Edit")} onClick={edit} />
      {content + reasoning !== "" && (
        <MessageAction
          icon="inspect"
          name={t("Inspect")}
          words
          title={t("How each token was chosen")}
          onClick={inspect}
        />
      )}
      {(answer?.traced || answer?.seed !== undefined) &&
        answer.edited !== true &&
        content + reasoning !== "" && (
          <MessageAction
            icon="roads"
            name={backedWords(answer.backed)}
            words={(answer.backed ?? 0) > 0}
            title={t("Words that the model was unsure of, and what it might have written instead")}
            onClick={() => {
              roads.value = !roads.peek();
            }}
          />
        )}
      <MessageAction icon="trash" name={t("Delete")} apart onClick={remove} />
    </span>
  );
}

/** What stands on the button for other words: that some were taken back, where they were. */
function backedWords(backed = 0): string {
  if (backed === 0) return t("Other words");
  return tn(backed, "Backed up once", "Backed up {n} times");
}

function AnswerEditor({ chat, id, editing }: MessageProps) {
  const close = () => {
    editing.value = undefined;
    focusField();
  };
  return (
    <MessageEditor
      label={t("Edit the answer")}
      action={t("Save")}
      text={chat.tree.node(id).peek().content}
      files={[]}
      lines
      onCancel={close}
      onDone={(text) => {
        close();
        chat.rewrite(id, text);
      }}
    />
  );
}
