// SPDX-License-Identifier: MIT
// What a script asks about the request and the answer, and what it says: log, output, note.
#include "script.h"

static FUNCTION(answer_text) {
  int from, n;
  if (!read_from(argv[0], &from) || (n = READ(host_text(from, ptr, limit))) < 0) return JS_EXCEPTION;
  return JS_NewStringLen(c, scratch, n);
}

static FUNCTION(history) {
  int from, n;
  if (!read_from(argv[0], &from)) return JS_EXCEPTION;
  n = host_history(from, NULL, 0);
  if (!scratch_room(4 * n + 4)) return JS_EXCEPTION;
  host_history(from, scratch, n);
  return new_tokens((u32 *)scratch, n);
}
static JSValue history_length(JSContext *c, JSValueConst self) { return JS_NewInt32(c, host_history(0, NULL, 0)); }

static JSValue part(JSContext *c, JSValueConst self) {
  static const char *const names[] = {"content", "reasoning", "tool_call"};
  int p = host_part();
  return JS_NewString(c, p >= 0 && p < COUNT(names) ? names[p] : "unknown");
}

static JSValue logprob(JSContext *c, JSValueConst self) {
  if (!may_logprob) return throw_type("the plan has no logprob: write `export const plugin = {needs: [\"logprob\"]}`");
  return JS_NewFloat64(c, host_logprob());
}

// fuel is what is left of the running call, so that a search can end in time with what it has.
static JSValue fuel(JSContext *c, JSValueConst self) { return JS_NewInt64(c, host_has("fuel") ? host_fuel() : -1); }

// elapsed is how long ago the request came, in milliseconds; -1: the host does not tell.
static JSValue elapsed(JSContext *c, JSValueConst self) { return JS_NewInt32(c, host_has("elapsed") ? host_elapsed() : -1); }

static FUNCTION(hidden_state) {
  int n;
  if (!may_state) return throw_type("the plan has no hidden state: write `export const plugin = {needs: [\"hidden_state\"]}`");
  n = host_state(NULL, 0);
  if (!scratch_room(4 * n + 4)) return JS_EXCEPTION;
  host_state(scratch, n);
  return new_array(scratch, n, JS_TYPED_ARRAY_FLOAT32);
}

static FUNCTION(param) {
  static const char *const names[] = {"promptTokens", "maxTokens", "contextSize", "seed", "time", "choice", "choices"};
  Text name;
  if (!read_text(argv[0], "the name", &name)) return JS_EXCEPTION;
  for (int i = 0; i < COUNT(names); i++)
    if (!strcmp(name.bytes, names[i])) {
      JS_FreeCString(c, name.bytes);
      return JS_NewInt64(c, host_param(i));
    }
  throw_range("there is no parameter %.40s; there are promptTokens, maxTokens, contextSize, seed, time, choice and choices", name.bytes);
  JS_FreeCString(c, name.bytes);
  return JS_EXCEPTION;
}

static FUNCTION(request) { return read_scratch(READ(host_request(ptr, limit)), "request"); }

// conversation is what messages got, for a filter that puts back what messages has replaced.
static FUNCTION(conversation) {
  int n;
  if (!has(MESSAGES) || !has(FILTER)) return throw_type("penstock.messages is for hooks of a script that exports both messages and filter");
  n = READ(host_messages(ptr, limit));
  return n ? read_scratch(n, "messages") : JS_NewArray(c); // a prompt has none
}

static FUNCTION(prompt) {
  Text json = {NULL, 0};
  int n;
  if (!JS_IsUndefined(argv[0]) && !read_json(argv[0], "the conversation", &json)) return JS_EXCEPTION;
  n = READ(host_prompt(json.bytes, json.n, ptr, limit));
  if (json.bytes) JS_FreeCString(c, json.bytes);
  if (n >= 0) return JS_NewStringLen(c, scratch, n);
  return JS_HasException(c) ? JS_EXCEPTION : throw_type("the model's template refuses these messages, or this is neither in messages nor in template");
}

static FUNCTION(output) {
  Text json;
  if (!read_json(argv[0], "the value", &json)) return JS_EXCEPTION;
  int r = host_output(json.bytes, json.n);
  JS_FreeCString(c, json.bytes);
  return JS_NewBool(c, r == 0);
}

// written is a value as log and note write it: a text as it is, other values as JSON.
static int written(JSValueConst v, Text *to) {
  JSValue json;
  if (JS_IsString(v)) return read_text(v, "the text", to);
  if (JS_IsError(v) || JS_IsSymbol(v) || JS_IsBigInt(v) || JS_IsFunction(js, v)) json = JS_IsSymbol(v) ? JS_NewString(js, "Symbol()") : JS_ToString(js, v);
  else if (JS_IsObject(v)) json = JS_JSONStringify(js, v, JS_UNDEFINED, JS_UNDEFINED);
  else json = JS_ToString(js, v);
  if (JS_IsException(json)) return 0;
  to->bytes = JS_ToCStringLen(js, &to->n, json);
  JS_FreeValue(js, json);
  return to->bytes != NULL;
}

static FUNCTION(note) {
  Text text;
  int n, r;
  if (!written(argv[0], &text)) return JS_EXCEPTION;
  n = text.n;
  if (n > 256) for (n = 256; n > 0 && (text.bytes[n] & 0xc0) == 0x80;) n--;
  r = may_note ? host_note(text.bytes, n) : 0;
  JS_FreeCString(c, text.bytes);
  return JS_NewBool(c, r == 0);
}

#define LONGEST_LINE 4096
static JSValue log_line(JSContext *c, JSValueConst self, int argc, JSValueConst *argv, int level) {
  char line[LONGEST_LINE];
  int n = 0;
  for (int i = 0; i < argc && n < LONGEST_LINE; i++) {
    Text text;
    if (!written(argv[i], &text)) { // such as a list that has itself
      JSValue e = JS_GetException(js);
      if (JS_IsUncatchableError(e)) return JS_Throw(js, e);
      JS_FreeValue(js, e);
      JSValue instead = JS_NewString(js, describe(argv[i]));
      text.bytes = JS_ToCStringLen(js, &text.n, instead);
      JS_FreeValue(js, instead);
      if (!text.bytes) return JS_EXCEPTION;
    }
    if (i > 0) line[n++] = ' ';
    int m = text.n < (size_t)(LONGEST_LINE - n) ? (int)text.n : LONGEST_LINE - n;
    memcpy(line + n, text.bytes, m);
    n += m;
    JS_FreeCString(c, text.bytes);
  }
  host_log(level, line, n);
  return JS_UNDEFINED;
}

static const JSCFunctionListEntry functions[] = {
  METHOD("text", 1, answer_text), METHOD("history", 1, history), METHOD("hiddenState", 0, hidden_state), METHOD("param", 1, param),
  METHOD("request", 0, request), METHOD("messages", 0, conversation), METHOD("prompt", 1, prompt), METHOD("output", 1, output), METHOD("note", 1, note),
  JS_CGETSET_DEF2("historyLength", history_length, NULL, JS_PROP_ENUMERABLE), JS_CGETSET_DEF2("part", part, NULL, JS_PROP_ENUMERABLE),
  JS_CGETSET_DEF2("fuel", fuel, NULL, JS_PROP_ENUMERABLE), JS_CGETSET_DEF2("elapsed", elapsed, NULL, JS_PROP_ENUMERABLE), JS_CGETSET_DEF2("logprob", logprob, NULL, JS_PROP_ENUMERABLE),
};

static const JSCFunctionListEntry console_functions[] = {
  JS_CFUNC_MAGIC_DEF("debug", 0, log_line, 0), JS_CFUNC_MAGIC_DEF("log", 0, log_line, 1), JS_CFUNC_MAGIC_DEF("info", 0, log_line, 1),
  JS_CFUNC_MAGIC_DEF("warn", 0, log_line, 2), JS_CFUNC_MAGIC_DEF("error", 0, log_line, 3),
};

// request_start makes the globals beside the language's own: penstock, console, log, note, output.
JSValue request_start(void) {
  static const char *const shortcuts[] = {"note", "output"};
  JSValue global = JS_GetGlobalObject(js), penstock = JS_NewObject(js), console = JS_NewObject(js);
  JS_SetPropertyFunctionList(js, penstock, functions, COUNT(functions));
  JS_SetPropertyFunctionList(js, console, console_functions, COUNT(console_functions));
  set(global, "log", JS_GetPropertyStr(js, console, "log"));
  for (int i = 0; i < COUNT(shortcuts); i++)
    set(global, shortcuts[i], JS_GetPropertyStr(js, penstock, shortcuts[i]));
  set(global, "console", console);
  set(global, "penstock", JS_DupValue(js, penstock));
  JS_FreeValue(js, global);
  return penstock;
}
