// SPDX-License-Identifier: MIT

// What a tool answered to a call, or the ways to an answer: the server's, with a permission, or
// one's own.
import { t, tx } from "../../language/language.ts";
import "../../style/toolparts.css";
import { useComputed, useSignal } from "@preact/signals";
import { useEffect, useId } from "preact/hooks";
import type { Chat } from "../../chats/chat.ts";
import { openCalls, type ToolResult } from "../../chats/message.ts";
import type { ToolCall } from "../../host/protocol.ts";
import { splitControls } from "../../text/bidi.ts";
import type { ToolCalls } from "../../tools/toolcalls.ts";
import type { OfferedTool } from "../../tools/toolservers.ts";
import { focusField } from "../chat/focus.ts";

interface Props {
  calls: ToolCalls;
  chat: Chat;
  id: string; // of the answer
  call: ToolCall;
}

const declined = "The user declined this call."; // untranslated: the model reads it
const long = 300; // characters of a result that is folded

/** The result of a call, or how it gets one. */
export function CallResult({ calls, chat, id, call }: Props) {
  const result = useComputed(() =>
    chat.tree.node(id).value.results?.find((one) => one.call === call.id),
  ).value;
  const { name } = call.function;
  const mine = calls.runs(id, call);
  const elsewhere = useSignal(true); // as long as that is not known to be otherwise
  const begun = result?.open === true && result.content === "" && !mine;
  useEffect(() => {
    elsewhere.value = true;
    return begun ? calls.whenFree(chat, id, call, () => (elsewhere.value = false)) : undefined;
  }, [begun, elsewhere, calls, chat, id, call]);
  if (result !== undefined && !result.open) {
    return (
      <div class="call-result">
        <Result result={result} />
        <GoOn calls={calls} chat={chat} id={id} call={call} />
      </div>
    );
  }
  if (begun && elsewhere.value) {
    return (
      <div class="call-result" role="status">
        <p>
          {t("{server} works on it, as another tab has asked…", { server: result.by ?? t("The server") })}
        </p>
      </div>
    );
  }
  if (mine) {
    return (
      <div class="call-result" role="status">
        <p>
          {t("{server} works on it…", { server: result?.by ?? t("The server") })}{" "}
          <button type="button" class="link" onClick={() => calls.stop(id, call)}>
            {t("Stop {name}", { name })}
          </button>
        </p>
      </div>
    );
  }
  return (
    <fieldset class="call-result">
      <legend class="hidden">{t("Answer to {name}", { name })}</legend>
      {result !== undefined && <Trouble result={result} />}
      <Ways calls={calls} chat={chat} id={id} call={call} tool={calls.toolOf(chat, call)} />
    </fieldset>
  );
}

/** What a tool answered. A long text is folded. */
function Result({ result: { content, by, failed = false } }: { result: ToolResult }) {
  const title =
    by === undefined
      ? t("Your answer")
      : failed
        ? t("Error of {server}", { server: by })
        : t("Answer of {server}", { server: by });
  return (
    <details open={content.length <= long}>
      <summary class={failed ? "failed" : ""}>{title}</summary>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, also by keys */}
      <pre tabIndex={0}>
        {splitControls(content === "" ? t("(nothing)") : content).map(({ text, control }) =>
          control ? <span class="control" data-name={control} /> : text,
        )}
      </pre>
    </details>
  );
}

/** Why a server has given no answer. */
function Trouble({ result: { by = t("The server"), content } }: { result: ToolResult }) {
  return (
    <p class="failed" role="alert">
      {content === ""
        ? t("{server} was interrupted: it may have done what was asked.", { server: by })
        : `${by}: ${content}.`}
    </p>
  );
}

/** The ways to an answer that a person can choose from. */
function Ways({ calls, chat, id, call, tool }: Props & { tool: OfferedTool | undefined }) {
  const server = tool?.server;
  const writing = useSignal(server === undefined);
  const run = (always: boolean) => {
    void calls.run(chat, id, call, always);
    focusField();
  };
  const decline = () => {
    calls.answer(chat, id, call, declined);
    focusField();
  };
  return (
    <>
      {server !== undefined && (
        <p>
          {tx("May {server} ({host}) run {tool} with these arguments?", {
            server: <strong>{server.name}</strong>,
            host: new URL(server.url).host,
            tool: <code>{tool?.tool}</code>,
          })}
        </p>
      )}
      <p class="call-ways">
        {server !== undefined && (
          <>
            <button type="button" class="small-primary" onClick={() => run(false)}>
              {t("Allow once")}
            </button>
            <button type="button" class="quiet" onClick={() => run(true)}>
              {t("Always allow")}
            </button>
            <button
              type="button"
              class="quiet"
              aria-expanded={writing.value}
              onClick={() => (writing.value = !writing.peek())}
            >
              {t("Answer it yourself")}
            </button>
          </>
        )}
        <button type="button" class="quiet" onClick={decline}>
          {t("Decline")}
        </button>
      </p>
      {writing.value && <OwnAnswer calls={calls} chat={chat} id={id} call={call} />}
    </>
  );
}

function OwnAnswer({ calls, chat, id, call }: Props) {
  const field = useId();
  const text = useSignal("");
  const { name } = call.function;
  return (
    <form
      class="own-answer"
      onSubmit={(event) => {
        event.preventDefault();
        calls.answer(chat, id, call, text.peek());
        focusField();
      }}
    >
      <label for={field}>{tx("What {name} answers", { name: <code>{name}</code> })}</label>
      <textarea
        id={field}
        rows={3}
        dir="auto"
        spellcheck={false}
        value={text}
        onInput={(event) => {
          text.value = event.currentTarget.value;
        }}
      />
      <button type="submit" class="small-primary">
        {t("Send answer")}
      </button>
    </form>
  );
}

/** The way on where all calls are answered and the model was not asked, as after a reload. */
function GoOn({ calls, chat, id, call }: Props) {
  const waits = useComputed(() => {
    const message = chat.tree.node(id).value;
    const last = message.calls?.at(-1)?.id === call.id;
    return last && chat.tree.leaf?.id === id && chat.run === undefined && openCalls(message).length === 0;
  });
  if (!waits.value) return null;
  return (
    <button type="button" class="quiet" onClick={() => calls.goOn(chat, id)}>
      {t("Go on with this")}
    </button>
  );
}
