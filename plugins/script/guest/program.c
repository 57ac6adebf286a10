// SPDX-License-Identifier: MIT
// Branches of a program, which run(r) gets. What would be a fault of the host's, such as the use of
// a branch that is closed or computed by the host, is an error of JavaScript here.
#include <stdlib.h>
#include "script.h"

static JSClassID branch_class;
static JSValue program;
static int chains; // the last one's handle
static uint64_t adopted[4]; // a bit for each choice

// A branch's opaque value is its handle and one, so that 0 is a closed one.
static JSValue new_branch(int handle) {
  JSValue b = JS_NewObjectClass(js, branch_class);
  if (!JS_IsException(b)) JS_SetOpaque(b, (void *)(intptr_t)(handle + 1));
  return b;
}

static int any_branch(JSValueConst v, int *handle) {
  if (JS_GetClassID(v) != branch_class) { throw_type("%s is no branch; r.prompt(), r.open(), r.chat() and fork() give one", describe(v)); return 0; }
  *handle = (int)(intptr_t)JS_GetOpaque(v, branch_class) - 1;
  if (*handle < 0) { throw_type("the branch is closed"); return 0; }
  return 1;
}

static int branch(JSValueConst v, int *handle) {
  if (!any_branch(v, handle)) return 0;
  if (host_branch_state(*handle) == STATE_RUNNING) { throw_type("the host still continues the branch: wait for it first"); return 0; }
  return 1;
}

// computed is a branch with a row, the model's prediction after it.
static int computed(JSValueConst v, int *handle) {
  int state;
  if (!branch(v, handle)) return 0;
  state = host_branch_state(*handle);
  if (state == STATE_READY || state == STATE_ENDED || state == STATE_STUCK) return 1;
  throw_type("the branch is not computed: wait for it with r.wait([branch]) first");
  return 0;
}

// answered turns a branch answer below 0 into an error.
static int answered(int r) {
  static const char *const why[] = {
    "", "no branch is free: close one, or ask for more with plugin.branches", "the branch has no room for more tokens",
    "the program has used up the tokens that it may compute", "", "", "no token is possible after the branch",
  };
  if (r >= 0) return 1;
  if (r == -4 || r == -5) {
    int n = READ(host_branch_reason(ptr, limit));
    throw_type("%.*s", n < 0 ? 0 : n, scratch);
  } else throw_range("%s", -r < COUNT(why) ? why[-r] : "the host refused it");
  return 0;
}
static JSValue int_answer(int r) { return answered(r) ? JS_NewInt32(js, r) : JS_EXCEPTION; }
static JSValue branch_answer(int r) { return answered(r) ? new_branch(r) : JS_EXCEPTION; }
static JSValue nothing(int r) { return answered(r) ? JS_UNDEFINED : JS_EXCEPTION; }

static int chain_option(JSValueConst options, int *chain) {
  JSValue v;
  int ok;
  *chain = 0;
  if (!read_option(options, "chain", &v)) return 0;
  ok = JS_IsUndefined(v) || read_int(v, "the chain", 0, chains, chain);
  JS_FreeValue(js, v);
  return ok;
}

// # Methods of a branch

static FUNCTION(fork_branch) {
  int b;
  return branch(self, &b) ? branch_answer(host_branch_fork(b)) : JS_EXCEPTION;
}
static FUNCTION(close_branch) {
  int b;
  if (!any_branch(self, &b)) return JS_EXCEPTION;
  JS_SetOpaque(self, NULL);
  return nothing(host_branch_close(b));
}
static FUNCTION(cut) {
  int b, n, length;
  if (!branch(self, &b)) return JS_EXCEPTION;
  length = host_branch_tokens(b, 0, NULL, 0);
  return read_int(argv[0], "the length", 1, length, &n) ? nothing(host_branch_cut(b, n)) : JS_EXCEPTION;
}
static FUNCTION(append) {
  int b, scored, r;
  Tokens list;
  if (!read_flag(argv[1], "scored", &scored) || !read_tokens(argv[0], "what to append", 1 << 20, &list)) return JS_EXCEPTION;
  r = branch(self, &b) ? 1 : 0; // after the conversions, whose code may have closed it
  if (r) r = answered(list.n ? host_branch_append(b, list.token, list.n, scored) : 0);
  js_free(c, list.token);
  return r ? JS_UNDEFINED : JS_EXCEPTION;
}
static FUNCTION(length) {
  int b;
  return branch(self, &b) ? JS_NewInt32(c, host_branch_tokens(b, 0, NULL, 0)) : JS_EXCEPTION;
}
static int tokens_from(JSValueConst self, JSValueConst v, int *n) {
  int b, from;
  if (!read_from(v, &from) || !branch(self, &b)) return 0;
  *n = host_branch_tokens(b, from, NULL, 0);
  if (!scratch_room(4 * *n + 4)) return 0;
  host_branch_tokens(b, from, scratch, *n);
  return 1;
}
static FUNCTION(tokens) {
  int n;
  return tokens_from(self, argv[0], &n) ? new_tokens((u32 *)scratch, n) : JS_EXCEPTION;
}
static FUNCTION(text) {
  int n;
  return tokens_from(self, argv[0], &n) ? detokenize((Tokens){(u32 *)scratch, n}) : JS_EXCEPTION;
}
static FUNCTION(best) {
  int b, k, n;
  if (!read_int(argv[0], "the number of candidates", 0, 4096, &k) || !computed(self, &b) || !scratch_room(8 + 8 * k)) return JS_EXCEPTION;
  if (!answered(n = host_branch_candidates(b, k, scratch))) return JS_EXCEPTION;
  float *copy = js_malloc(c, 8 + 8 * k); // making objects may use scratch again
  if (!copy) return JS_EXCEPTION;
  memcpy(copy, scratch, 8 + 8 * k);
  JSValue list = JS_NewArray(c);
  for (int i = 0; i < n && !JS_IsException(list); i++) {
    JSValue o = JS_NewObject(c);
    u32 id = ((u32 *)copy)[2 + i];
    set(o, "id", JS_NewInt32(c, id));
    set(o, "text", id < (u32)vocabulary ? piece_text(id) : JS_UNDEFINED);
    set(o, "logprob", JS_NewFloat64(c, copy[2 + k + i] - copy[0]));
    JS_DefinePropertyValueUint32(c, list, i, o, JS_PROP_C_W_E);
  }
  js_free(c, copy);
  return list;
}
static FUNCTION(branch_entropy) {
  int b;
  float sums[2];
  return computed(self, &b) && answered(host_branch_candidates(b, 0, sums)) ? JS_NewFloat64(c, sums[1]) : JS_EXCEPTION;
}
static FUNCTION(scores) {
  int b, from, n;
  if (!read_from(argv[0], &from) || !branch(self, &b)) return JS_EXCEPTION;
  n = host_branch_tokens(b, from, NULL, 0);
  from = host_branch_tokens(b, 0, NULL, 0) - n; // scores count from the beginning only
  if (!scratch_room(4 * n + 4)) return JS_EXCEPTION;
  host_branch_scores(b, from, scratch, n);
  return new_array(scratch, n, JS_TYPED_ARRAY_FLOAT32);
}
static FUNCTION(logits) {
  int b;
  if (!computed(self, &b) || !scratch_room(4 * vocabulary)) return JS_EXCEPTION;
  host_branch_logits(b, scratch, vocabulary);
  return new_array(scratch, vocabulary, JS_TYPED_ARRAY_FLOAT32);
}
static FUNCTION(mask_branch) {
  int b;
  u32 *words;
  if (!computed(self, &b)) return JS_EXCEPTION;
  if (!read_words(argv[0], &words)) return throw_type("mask got %s; it takes a mask of penstock.mask", describe(argv[0]));
  return nothing(host_branch_mask(b, words, mask_size));
}
static FUNCTION(mix) { // mix([[branch, weight], …])
  int b, other, n;
  int64_t length;
  struct { u32 branch; float weight; } list[64];
  JSValue items[64];
  if (!JS_IsObject(argv[0]) || JS_GetLength(c, argv[0], &length)) return JS_IsObject(argv[0]) ? JS_EXCEPTION : throw_type("mix got %s; it takes a list of pairs [branch, weight]", describe(argv[0]));
  if (length < 1 || length > COUNT(list)) return throw_range("mix got %lld pairs; it takes 1 to %d", (long long)length, COUNT(list));
  n = length;
  for (int i = 0; i < n; i++) {
    double w;
    JSValue pair = JS_GetPropertyUint32(c, argv[0], i), first = JS_UNDEFINED, second = JS_UNDEFINED;
    if (JS_IsException(pair)) return pair;
    if (JS_IsObject(pair)) first = JS_GetPropertyUint32(c, pair, 0), second = JS_GetPropertyUint32(c, pair, 1);
    JS_FreeValue(c, pair);
    if (JS_IsException(first) || JS_IsException(second) || !read_number(second, "the weight", &w)) return JS_EXCEPTION;
    if (w > 1e30 || w < -1e30) return throw_range("the weight is %g; it must be finite", w);
    items[i] = first;
    list[i].weight = w;
  }
  for (int i = 0; i < n; i++) { // after the conversions, whose code may have closed one of them
    if (!computed(items[i], &other)) return JS_EXCEPTION;
    list[i].branch = other;
    JS_FreeValue(c, items[i]);
  }
  return computed(self, &b) ? nothing(host_branch_mix(b, list, n)) : JS_EXCEPTION;
}
static FUNCTION(sample) {
  int b, chain;
  return chain_option(argv[0], &chain) && computed(self, &b) ? int_answer(host_branch_sample(b, chain)) : JS_EXCEPTION;
}
static FUNCTION(start) {
  int b, n, chain, scored;
  if (!read_int(argv[0], "the number of tokens", 1, 1 << 24, &n) || !chain_option(argv[1], &chain) || !read_flag(argv[1], "scored", &scored) || !branch(self, &b)) return JS_EXCEPTION;
  return nothing(host_branch_run(b, chain, n, scored));
}
static FUNCTION(state) {
  static const char *const names[] = {"pending", "ready", "running", "ran", "ended", "stuck"};
  int b, s;
  if (!any_branch(self, &b)) return JS_EXCEPTION;
  s = host_branch_state(b);
  return JS_NewString(c, s >= 0 && s < COUNT(names) ? names[s] : "unknown");
}

static JSValue length_of(JSContext *c, JSValueConst self) { return length(c, self, 0, NULL); }
static JSValue state_of(JSContext *c, JSValueConst self) { return state(c, self, 0, NULL); }

static const JSCFunctionListEntry branch_methods[] = {
  METHOD("fork", 0, fork_branch), METHOD("close", 0, close_branch), METHOD("cut", 1, cut), METHOD("append", 2, append), METHOD("tokens", 1, tokens),
  METHOD("text", 1, text), METHOD("best", 1, best), METHOD("entropy", 0, branch_entropy), METHOD("scores", 1, scores), METHOD("logits", 0, logits),
  METHOD("mask", 1, mask_branch), METHOD("mix", 1, mix), METHOD("sample", 1, sample), METHOD("start", 2, start),
  JS_CGETSET_DEF2("length", length_of, NULL, JS_PROP_ENUMERABLE), JS_CGETSET_DEF2("state", state_of, NULL, JS_PROP_ENUMERABLE),
};

// # Methods of r

static FUNCTION(prompt) { return branch_answer(host_branch_open(NULL, 0)); }
static FUNCTION(open_tokens) {
  Tokens list;
  if (!read_tokens(argv[0], "the tokens", 1 << 20, &list)) return JS_EXCEPTION;
  JSValue b = list.n ? branch_answer(host_branch_open(list.token, list.n)) : throw_range("a branch has at least one token; r.prompt() opens one with the prompt");
  js_free(c, list.token);
  return b;
}
static FUNCTION(chat) {
  Text json;
  JSValue list = JS_DupValue(c, argv[0]), b;
  if (JS_IsString(list)) { // of the user
    JSValue message = JS_NewObject(c);
    set(message, "role", JS_NewString(c, "user"));
    set(message, "content", list);
    list = JS_NewArrayFrom(c, 1, &message);
  }
  int ok = read_json(list, "the conversation", &json);
  JS_FreeValue(c, list);
  if (!ok) return JS_EXCEPTION;
  b = branch_answer(host_branch_open_messages(json.bytes, json.n));
  JS_FreeCString(c, json.bytes);
  return b;
}
static FUNCTION(chain) {
  Text json;
  if (!read_json(argv[0], "the parameters", &json)) return JS_EXCEPTION;
  int r = host_chain_open(json.bytes, json.n);
  JS_FreeCString(c, json.bytes);
  if (r > 0) chains = r;
  return int_answer(r);
}

// branches_of reads a branch or a list of them; the result is how many, -1 an exception.
static int branches_of(JSValueConst v, int *list) {
  int64_t n;
  if (JS_GetClassID(v) == branch_class) return any_branch(v, list) ? 1 : -1;
  if (!JS_IsObject(v)) { throw_type("%s is no list of branches", describe(v)); return -1; }
  if (JS_GetLength(js, v, &n)) return -1;
  if (n > 64) { throw_range("%lld branches; there may be 64", (long long)n); return -1; }
  JSValue items[64]; // all are read first: that may run code, which may close one of them
  int read = 0, ok = 1;
  while (read < n && ok) ok = !JS_IsException(items[read] = JS_GetPropertyUint32(js, v, read)), read++;
  for (int i = 0; i < read; i++) {
    ok = ok && any_branch(items[i], &list[i]);
    JS_FreeValue(js, items[i]);
  }
  return ok ? n : -1;
}
// wait_for waits and gives the branches that have their row, in the order given.
static JSValue wait_for(JSValueConst branches, int k, int any) {
  int list[64], n = branches_of(branches, list), ready;
  JSValue done;
  if (n < 0 || !answered(ready = host_branches_wait(list, n, k, any))) return JS_EXCEPTION;
  if (JS_GetClassID(branches) == branch_class) return JS_DupValue(js, branches);
  if (!any) return JS_DupValue(js, branches);
  done = JS_NewArray(js);
  for (int i = 0, at = 0; i < n; i++) {
    JSValue b = JS_GetPropertyUint32(js, branches, i);
    int handle, is = 0;
    if (JS_IsException(b)) { JS_FreeValue(js, done); return b; }
    if (any_branch(b, &handle)) { for (int j = 0; j < ready; j++) is |= list[j] == handle; }
    else JS_FreeValue(js, JS_GetException(js));
    if (is) JS_DefinePropertyValueUint32(js, done, at++, b, JS_PROP_C_W_E);
    else JS_FreeValue(js, b);
  }
  return done;
}
static FUNCTION(wait_branches) {
  int k = 0, any;
  if (!JS_IsUndefined(argv[1]) && !read_int(argv[1], "the number of candidates", 0, 4096, &k)) return JS_EXCEPTION;
  return read_flag(argv[2], "any", &any) ? wait_for(argv[0], k, any) : JS_EXCEPTION;
}
static FUNCTION(continue_branches) {
  int list[64], n, tokens, chain, scored;
  if (!read_int(argv[1], "the number of tokens", 1, 1 << 24, &tokens) || !chain_option(argv[2], &chain) || !read_flag(argv[2], "scored", &scored)) return JS_EXCEPTION;
  if ((n = branches_of(argv[0], list)) < 0) return JS_EXCEPTION;
  for (int i = 0; i < n; i++) {
    if (host_branch_state(list[i]) == STATE_RUNNING) return throw_type("the host still continues branch %d of the list: wait for it first", i);
    if (!answered(host_branch_run(list[i], chain, tokens, scored))) return JS_EXCEPTION;
  }
  return wait_for(argv[0], 0, 0);
}
static int choice_argument(JSValueConst v, int *choice) {
  *choice = 0;
  return JS_IsUndefined(v) || read_int(v, "the choice", 0, (int)host_param(PARAM_CHOICES) - 1, choice);
}
static FUNCTION(show) {
  int choice;
  Tokens list;
  if (!choice_argument(argv[1], &choice) || !read_tokens(argv[0], "what to show", 1 << 20, &list)) return JS_EXCEPTION;
  int r = list.n ? host_show(choice, list.token, NULL, list.n) : 0;
  js_free(c, list.token);
  return JS_NewBool(c, r == 0);
}
static FUNCTION(adopt) {
  int b, from = (int)host_param(PARAM_PROMPT_TOKENS), choice;
  if (!choice_argument(argv[2], &choice) || !branch(argv[0], &b)) return JS_EXCEPTION;
  if (!JS_IsUndefined(argv[1]) && !read_int(argv[1], "the length of the prompt", 1, host_branch_tokens(b, 0, NULL, 0), &from)) return JS_EXCEPTION;
  if (choice < 256 && adopted[choice / 64] >> choice % 64 & 1) return throw_type("choice %d goes on from a branch already", choice);
  if (choice < 256) adopted[choice / 64] |= 1ull << choice % 64;
  return nothing(host_adopt(choice, b, from));
}
static JSValue prompt_tokens(JSContext *c, JSValueConst self) { return JS_NewInt64(c, host_param(PARAM_PROMPT_TOKENS)); }
static JSValue max_tokens(JSContext *c, JSValueConst self) {
  int64_t room = host_param(PARAM_CONTEXT_SIZE) - host_param(PARAM_PROMPT_TOKENS), n = host_param(PARAM_MAX_TOKENS);
  return JS_NewInt64(c, n > 0 && n < room ? n : room);
}
static JSValue choices(JSContext *c, JSValueConst self) { return JS_NewInt64(c, host_param(PARAM_CHOICES)); }

static const JSCFunctionListEntry program_methods[] = {
  METHOD("prompt", 0, prompt), METHOD("open", 1, open_tokens), METHOD("chat", 1, chat), METHOD("chain", 1, chain), METHOD("wait", 3, wait_branches),
  METHOD("continue", 3, continue_branches), METHOD("show", 2, show), METHOD("adopt", 3, adopt),
  JS_CGETSET_DEF2("promptTokens", prompt_tokens, NULL, JS_PROP_ENUMERABLE), JS_CGETSET_DEF2("maxTokens", max_tokens, NULL, JS_PROP_ENUMERABLE),
  JS_CGETSET_DEF2("choices", choices, NULL, JS_PROP_ENUMERABLE),
};

void program_start(void) {
  static const JSClassDef definition = {"Branch"};
  JSValue methods = JS_NewObject(js);
  JS_NewClassID(runtime, &branch_class);
  JS_NewClass(runtime, branch_class, &definition);
  JS_SetPropertyFunctionList(js, methods, branch_methods, COUNT(branch_methods));
  JS_SetClassProto(js, branch_class, methods);
  program = JS_NewObject(js);
  JS_SetPropertyFunctionList(js, program, program_methods, COUNT(program_methods));
}

JSValue program_object(void) { return JS_DupValue(js, program); }
