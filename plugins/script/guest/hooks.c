// SPDX-License-Identifier: MIT
// The calls of the host, docs/abi/v1.md. All exports are here, and a plan says which of them a
// script needs.
#include "script.h"

static int started, planned;

static void start(void) {
  if (started) return;
  engine_start();
  penstock = request_start();
  vocabulary_start(penstock);
  sampling_functions(penstock);
  program_start();
  started = 1;
}

EXPORT("abi_v1") void abi_v1(void) {}

#define MANIFEST \
  "{\"name\":\"script\",\"version\":\"1.0.0\",\"summary\":\"JavaScript in the request\"," \
  "\"config_schema\":{\"type\":\"object\",\"properties\":{" \
  "\"source\":{\"type\":\"string\",\"maxLength\":65536,\"description\":\"the script: a JavaScript module that exports functions such as sample\"}," \
  "\"config\":{\"description\":\"any value, which the script reads as penstock.config\"}," \
  "\"describe\":{\"type\":\"boolean\",\"description\":\"only say what the script exports, whether or not it can run with this config\"}}," \
  "\"required\":[\"source\"],\"additionalProperties\":false}," \
  "\"optional\":[\"penstock_plan\",\"penstock_messages\",\"penstock_filter\",\"penstock_draft\",\"penstock_run\"],"
static const char wide[] = MANIFEST "\"view\":\"logits\",\"candidates\":4096,\"hold\":256,\"take_back\":1000000,\"branches\":64}";
// A host that cannot plan gets one manifest for all scripts: no programs, no conversations, no
// filters.
static const char narrow[] = MANIFEST "\"candidates\":40,\"hold\":32,\"implements\":"
  "[\"penstock_open\",\"penstock_warm\",\"penstock_sample\",\"penstock_prepare\",\"penstock_accept\",\"penstock_stop\",\"penstock_draft\"]}";

EXPORT("describe") void describe_plugin(void) {
  if (host_has("penstock_plan")) host_emit(wide, sizeof wide - 1);
  else host_emit(narrow, sizeof narrow - 1);
}

EXPORT("warm") int warm(void) {
  start();
  return 0;
}

// What is said where the host ends a call, which a built-in function without loops of the script's
// own can come to. Whatever else goes wrong says something better.
static char ended[HOOKS][128];
static int ended_size[HOOKS];

static void prepare_texts(void) {
  for (int i = 0; i < HOOKS; i++) {
    int column, line = JS_GetFunctionLine(js, hooks[i], &column);
    if (line) ended_size[i] = snprintf(ended[i], sizeof ended[i], "a built-in function used up the time of %s (" SCRIPT_FILE ":%d:%d)", hook_names[i], line, column);
  }
}

EXPORT("plan") int plan(void) {
  static const char ended_early[] = "a built-in function used up the time of the script's code outside of functions (" SCRIPT_FILE ":1:1)";
  start();
  host_fail(ended_early, sizeof ended_early - 1);
  if (evaluate()) return 1;
  prepare_texts();
  emit_plan();
  planned = 1;
  return 0;
}

EXPORT("open") int open_(void) {
  start();
  if (evaluate()) return 1;
  if (!planned) {
    char name[32];
    prepare_texts();
    for (int i = 0; i < HOOKS; i++)
      if (!has(i) && i != RUN && i != FILTER && i != MESSAGES && i != TEMPLATE) host_decline(name, snprintf(name, sizeof name, "penstock_%s", hook_names[i]));
    if (has(RUN) || has(FILTER) || has(MESSAGES) || has(TEMPLATE))
      return refuse_text(JS_UNDEFINED, "this host cannot plan plugins, and so runs no script with run, filter, messages or template");
  }
  if (!sampling_bind(has(SAMPLE), has(PREPARE), has(PREPARE) || has(ACCEPT) || has(DRAFT), has(STOP) || has(FILTER)))
    return refuse_text(JS_UNDEFINED, "the host refused a buffer");
  return 0;
}

// call calls a hook; a result that cannot be meant ends the call.
static JSValue call(int hook, int n, JSValue *args) {
  JSValue r;
  call_begin(hook != MESSAGES && hook != TEMPLATE);
  blame_function(hooks[hook]);
  running = hook;
  for (int i = 0; i < n; i++) if (JS_IsException(args[i])) return JS_EXCEPTION; // no memory for them
  host_fail(ended[hook], ended_size[hook]);
  r = JS_Call(js, hooks[hook], JS_UNDEFINED, n, args);
  for (int i = 0; i < n; i++) JS_FreeValue(js, args[i]);
  if (JS_IsException(r)) return r;
  if (JS_IsObject(r)) {
    const char *what = describe(r);
    if (JS_IsPromise(r)) STOP(hooks[hook], "%s returned a Promise: hooks are plain functions, and nothing here has to be awaited; remove async", hook_names[hook]);
    else if (strstr(what, "Generator") || strstr(what, "Iterator")) STOP(hooks[hook], "%s returned %s: hooks are plain functions; return the value itself", hook_names[hook], what);
  }
  if (JS_IsJobPending(runtime))
    STOP(hooks[hook], "%s leaves a Promise behind: nothing runs between two hooks, and nothing has to be awaited; use plain functions", hook_names[hook]);
  return r;
}
static JSValue answer(int hook, int n, JSValue *args) {
  JSValue r = call(hook, n, args);
  if (JS_IsException(r)) stop_call();
  return r;
}

EXPORT("sample") int sample(int n) {
  JSValue args[1] = {candidates_of(n)}, r = answer(SAMPLE, 1, args);
  int code = candidates_answer(r, hooks[SAMPLE]);
  JS_FreeValue(js, r);
  return code;
}

EXPORT("prepare") int prepare(void) {
  JSValue args[1] = {next_of()}, r = answer(PREPARE, 1, args);
  if (!JS_IsUndefined(r) && !JS_IsNull(r))
    STOP(hooks[PREPARE], "prepare returned %s; it returns nothing, and says what it wants by p.mask, p.allow, p.ban, p.bias and p.force", describe(r));
  return next_answer(hooks[PREPARE]);
}

EXPORT("accept") int accept_(int token) {
  JSValue args[1] = {JS_NewInt32(js, token)}, r = answer(ACCEPT, 1, args);
  int code = accept_answer(r, hooks[ACCEPT], token);
  JS_FreeValue(js, r);
  return code;
}

EXPORT("stop") int stop(int token, int bytes) {
  JSValue args[2] = {new_text(bytes), JS_NewInt32(js, token)}, r = answer(STOP, 2, args);
  int code = stop_answer(r, hooks[STOP], bytes);
  JS_FreeValue(js, r);
  return code;
}

EXPORT("filter") int filter(int bytes, int last) {
  JSValue args[2] = {new_text(bytes), JS_NewBool(js, last)}, r = answer(FILTER, 2, args);
  int held = filter_answer(r, hooks[FILTER], bytes, last);
  JS_FreeValue(js, r);
  return held;
}

EXPORT("draft") int draft(int n) {
  JSValue args[1] = {JS_NewInt32(js, n)}, r = answer(DRAFT, 1, args);
  int k = draft_answer(r, hooks[DRAFT], n);
  JS_FreeValue(js, r);
  return k;
}

// conversation is the list that messages and template get.
static JSValue conversation(void) { return read_scratch(READ(host_messages(ptr, limit)), "messages"); }

static int is_conversation(JSValueConst list) {
  int64_t n;
  if (JS_GetLength(js, list, &n)) return 0;
  for (int64_t i = 0; i < n; i++) {
    JSValue message = JS_GetPropertyUint32(js, list, (u32)i), role = JS_IsObject(message) ? JS_GetPropertyStr(js, message, "role") : JS_UNDEFINED;
    int ok = JS_IsString(role);
    if (!ok && !JS_HasException(js)) throw_type("message %d of the list is %s; a message is an object such as {role: \"user\", content: \"…\"}", (int)i, JS_IsObject(message) ? "without a role" : describe(message));
    JS_FreeValue(js, message);
    JS_FreeValue(js, role);
    if (!ok) return 0;
  }
  return 1;
}

// messages may return another list, or change the one that it gets.
EXPORT("messages") int messages(void) {
  JSValue args[1], list, r;
  Text json;
  start();
  if (evaluate()) return 1;
  if (!has(MESSAGES)) return 0;
  list = conversation();
  if (JS_IsException(list)) return refuse();
  args[0] = JS_DupValue(js, list);
  r = call(MESSAGES, 1, args);
  if (JS_IsException(r)) return refuse();
  if (JS_IsUndefined(r)) r = list;
  if (!JS_IsArray(r)) return refuse_text(hooks[MESSAGES], "messages returned %s; it must return a list of messages, or change the one that it gets and return nothing", describe(r));
  if (!is_conversation(r)) return refuse();
  if (!read_json(r, "the list", &json)) return refuse();
  host_emit(json.bytes, json.n);
  return 0;
}

EXPORT("template") int template(void) {
  JSValue args[1], r;
  Text text;
  start();
  if (evaluate()) return 1;
  args[0] = conversation();
  if (JS_IsException(args[0])) return refuse();
  r = call(TEMPLATE, 1, args);
  if (JS_IsException(r)) return refuse();
  if (!JS_IsString(r)) return refuse_text(hooks[TEMPLATE], "template returned %s; it must return the prompt, a text", describe(r));
  if (!read_text(r, "the prompt", &text)) return refuse();
  if (!text.n) return refuse_text(hooks[TEMPLATE], "template returned an empty text; it must return the prompt");
  host_emit(text.bytes, text.n);
  return 0;
}

EXPORT("run") int run(void) {
  JSValue args[1] = {program_object()}, r = call(RUN, 1, args);
  if (JS_IsException(r)) return refuse();
  JS_FreeValue(js, r);
  return 0;
}
