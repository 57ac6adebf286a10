// SPDX-License-Identifier: MIT
// What hooks of a token do: sample's candidates, prepare's mask, bias and forced tokens, and the
// answers of accept, stop, filter and draft. All is on the buffers that the host reads.
#include <math.h>
#include "script.h"

#define MOST_BIASES 256
#define MOST_FORCED 256
#define MOST_BIAS 3e38
#define MOST_HELD 4096     // held_bytes of docs/abi/v1.md
#define MOST_SHOWN (64 << 10) // filter_bytes

int hold, candidates_cap, logits_view, running = -1;
static float *row;           // logits of the candidates, or of the whole vocabulary
static u32 *ids, *shown_ids; // of the candidates, and a copy of them, which the script may write to
static float *weights;       // of softmax, as many
static u32 *mask_words, bias[1 + 2 * MOST_BIASES], splice[2 + MOST_FORCED];
static char text[2 * MOST_HELD]; // new text after what filter holds back
static int shown, filled;    // candidates in this call; prepare bits
static int changed, biased;  // whether sample has changed candidates by a method, or asked for biases
static char *held_text;      // what stop holds back
static size_t held, held_room;

// What a hook gets is for that hook: later it would change nothing, or what another one sees.
static int only_in(int hook, const char *what) {
  if (running == hook) return 1;
  throw_type("%s is for %s, whose call is over", what, hook_names[hook]);
  return 0;
}

// # sample(c)

static JSValue candidates, weight_view;

static int candidate(JSValueConst v, int *i) {
  if (!only_in(SAMPLE, "c")) return 0;
  if (!shown) { throw_type("there are no candidates, since plugin.view is \"none\""); return 0; }
  return read_int(v, "the candidate", 0, shown - 1, i);
}
static u32 id_of(int i) { return logits_view ? i : ids[i]; }

// entropy and weights of the row, by the likeliest's difference, so that nothing overflows.
static double weigh(float *to) {
  float best = -INFINITY;
  double sum = 0, mean = 0;
  for (int i = 0; i < shown; i++) if (row[i] > best) best = row[i];
  if (best == -INFINITY) { // all are dropped
    if (to) for (int i = 0; i < shown; i++) to[i] = 0;
    return 0;
  }
  for (int i = 0; i < shown; i++) {
    double w = exp((double)row[i] - best);
    sum += w;
    if (w > 0) mean += w * ((double)row[i] - best);
    if (to) to[i] = w;
  }
  if (to) for (int i = 0; i < shown; i++) to[i] /= sum;
  return log(sum) - mean / sum;
}

static FUNCTION(softmax) {
  if (!only_in(SAMPLE, "c")) return JS_EXCEPTION;
  weigh(weights);
  return JS_DupValue(c, weight_view);
}
static FUNCTION(entropy) { return only_in(SAMPLE, "c") ? JS_NewFloat64(c, weigh(NULL)) : JS_EXCEPTION; }

static FUNCTION(temperature) {
  double t;
  if (!only_in(SAMPLE, "c") || !read_number(argv[0], "the temperature", &t)) return JS_EXCEPTION;
  if (t < 0 || t > 1e6) return throw_range("the temperature is %g; it must be from 0 to 1000000", t);
  changed = 1;
  if (t < 1e-30) { // only the likeliest stays: quotients would be equal, since none is infinite
    int best = 0;
    for (int i = 1; i < shown; i++) if (row[i] > row[best]) best = i;
    for (int i = 0; i < shown; i++) if (i != best) row[i] = -INFINITY;
    return JS_UNDEFINED;
  }
  for (int i = 0; i < shown; i++) {
    float x = row[i] / t;
    row[i] = x > 3e38f ? 3e38f : x < -3e38f && row[i] != -INFINITY ? -3e38f : x;
  }
  return JS_UNDEFINED;
}

static FUNCTION(ban) {
  int i;
  if (!candidate(argv[0], &i)) return JS_EXCEPTION;
  row[i] = -INFINITY;
  changed = 1;
  return JS_UNDEFINED;
}

static FUNCTION(text_of) {
  int i;
  return candidate(argv[0], &i) ? piece_text(id_of(i)) : JS_EXCEPTION;
}

static FUNCTION(keep) {
  int n;
  if (!only_in(SAMPLE, "c")) return JS_EXCEPTION;
  if (logits_view) return throw_type("keep is for candidates, and plugin.view is \"logits\", whose tokens have no order");
  if (!read_int(argv[0], "the number to keep", 1, INT32_MAX, &n)) return JS_EXCEPTION;
  for (int i = n; i < shown; i++) row[i] = -INFINITY;
  changed = 1;
  return JS_UNDEFINED;
}

static FUNCTION(add_bias) {
  u32 token;
  double x;
  if (!read_token(argv[0], "the token", &token) || !read_number(argv[1], "the bias", &x)) return JS_EXCEPTION;
  if (x > MOST_BIAS) return throw_range("the bias is %g; to choose a token return it in sample, or force it in prepare", x);
  if (!biased) bias[0] = 0;
  if (bias[0] == MOST_BIASES) return throw_range("more than %d biases for one token", MOST_BIASES);
  bias[1 + 2 * bias[0]] = token;
  ((float *)bias)[2 + 2 * bias[0]] = x;
  bias[0]++;
  biased = 1;
  return JS_UNDEFINED;
}
static FUNCTION(bias_candidate) { return only_in(SAMPLE, "c") ? add_bias(c, self, argc, argv) : JS_EXCEPTION; }

// filter(f) drops the candidates for which f returns false, those that a RegExp does not match, or
// that a mask does not have. If that is all of them it drops none: an answer needs some token.
static FUNCTION(filter) {
  u32 *words;
  if (!only_in(SAMPLE, "c")) return JS_EXCEPTION;
  int left = 0, n = shown, is_regexp = JS_IsRegExp(argv[0]), is_mask = !is_regexp && read_words(argv[0], &words);
  if (!is_regexp && !is_mask && !JS_IsFunction(c, argv[0]))
    return throw_type("filter got %s; it takes a function, a RegExp or a mask", describe(argv[0]));
  char *stays = js_malloc(c, n + 1);
  if (!stays) return JS_EXCEPTION;
  for (int i = 0; i < n; i++) {
    u32 token = id_of(i);
    int yes;
    if (row[i] == -INFINITY) yes = 0;
    else if (is_mask) yes = words[token >> 5] >> (token & 31) & 1;
    else if (is_regexp) yes = piece_matches(argv[0], token);
    else {
      JSValue args[3] = {piece_text(token), JS_NewInt32(c, i), JS_NewInt32(c, token)}, r = JS_EXCEPTION;
      if (!JS_IsException(args[0])) r = JS_Call(c, argv[0], JS_UNDEFINED, 3, args);
      JS_FreeValue(c, args[0]);
      yes = JS_IsException(r) ? -1 : JS_IsPromise(r) ? -2 : JS_ToBool(c, r);
      JS_FreeValue(c, r);
    }
    if (yes == -2) throw_type("the function of filter returned a Promise: make it a plain function, without async");
    if (yes < 0) { js_free(c, stays); return JS_EXCEPTION; }
    left += stays[i] = yes;
  }
  if (left) for (int i = 0; i < n; i++) if (!stays[i]) row[i] = -INFINITY, changed = 1;
  js_free(c, stays);
  return JS_NewInt32(c, left);
}

static FUNCTION(draw) {
  double *list = NULL, sum = 0, at;
  int n = shown, last = -1;
  if (!only_in(SAMPLE, "c")) return JS_EXCEPTION;
  if (JS_IsUndefined(argv[0])) weigh(weights);
  else if (!read_floats(argv[0], "the weights", n, &list)) return JS_EXCEPTION;
  for (int i = 0; i < n; i++) {
    double w = list ? list[i] : weights[i];
    if (!(w >= 0 && w < INFINITY)) {
      js_free(c, list);
      return list ? throw_range("weight %d is %g; weights are finite and at least 0", i, w)
                  : throw_range("the logits have no probabilities to draw from: each is a finite number, or -Infinity to drop the candidate");
    }
    sum += w;
  }
  at = (double)(host_random() >> 11) * 0x1p-53 * sum;
  for (int i = 0; i < n; i++) {
    double w = list ? list[i] : weights[i];
    if (w <= 0) continue;
    last = i;
    if ((at -= w) < 0) break;
  }
  js_free(c, list);
  return last < 0 ? throw_range("all weights are 0 or dropped, so there is nothing to draw") : JS_NewInt32(c, id_of(last));
}

static const JSCFunctionListEntry candidate_methods[] = {
  METHOD("text", 1, text_of), METHOD("ban", 1, ban), METHOD("keep", 1, keep), METHOD("filter", 1, filter), METHOD("softmax", 0, softmax),
  METHOD("entropy", 0, entropy), METHOD("temperature", 1, temperature), METHOD("draw", 1, draw), METHOD("bias", 2, bias_candidate),
};

// candidates_of is what sample gets, with n candidates. Its arrays are made again when n changes.
JSValue candidates_of(int n) {
  int keep_flags = JS_PROP_CONFIGURABLE | JS_PROP_ENUMERABLE;
  changed = biased = 0;
  if (!logits_view) memcpy(shown_ids, ids, 4 * n);
  if (n != shown) {
    shown = n;
    JS_FreeValue(js, weight_view);
    weight_view = new_view(weights, n, JS_TYPED_ARRAY_FLOAT32);
    JS_DefinePropertyValueStr(js, candidates, "length", JS_NewInt32(js, n), keep_flags);
    JS_DefinePropertyValueStr(js, candidates, "ids", logits_view ? JS_UNDEFINED : new_view(shown_ids, n, JS_TYPED_ARRAY_UINT32), keep_flags);
    JS_DefinePropertyValueStr(js, candidates, "logits", new_view(row, n, JS_TYPED_ARRAY_FLOAT32), keep_flags);
    if (JS_HasException(js)) stop_call(); // out of memory
  }
  return JS_DupValue(js, candidates);
}

int candidates_answer(JSValueConst r, JSValueConst hook) {
  int left = 0;
  if (JS_IsNumber(r)) {
    double t;
    JS_ToFloat64(js, &t, r);
    if (t == floor(t) && t >= 0 && t < vocabulary) return (int)t;
  }
  if (!JS_IsUndefined(r) && !JS_IsNull(r))
    STOP(hook, "sample returned %s; it must return a token, which is a whole number from 0 to %d, or nothing", describe(r), vocabulary - 1);
  if (biased && changed)
    STOP(hook, "sample called c.bias and changed candidates, too, and only the bias would count: call p.bias in prepare, or change c.logits");
  if (biased) return INT32_MIN;
  for (int i = 0; i < shown; i++) {
    if (isnan(row[i]) || row[i] == INFINITY)
      STOP(hook, "sample left c.logits[%d] = %s; a logit is a finite number, or -Infinity to drop the candidate", i, isnan(row[i]) ? "NaN" : "Infinity");
    left += row[i] > -INFINITY;
  }
  if (!left && shown)
    STOP(hook, "sample dropped all %d candidates; leave one, or return a token", shown);
  return -1;
}

// # prepare(p)

static JSValue next;

// start_mask has the mask say yes or no for all tokens, unless the hook has begun one.
static void start_mask(int all) {
  if (filled & 1) return;
  memset(mask_words, all ? 0xff : 0, 4 * mask_size);
  filled |= 1;
}

static FUNCTION(set_mask) {
  u32 *words;
  Tokens list;
  if (!only_in(PREPARE, "p")) return JS_EXCEPTION;
  if (read_words(argv[0], &words)) {
    memcpy(mask_words, words, 4 * mask_size);
    filled |= 1;
    return JS_UNDEFINED;
  }
  if (JS_GetTypedArrayType(argv[0]) == JS_TYPED_ARRAY_UINT32 || JS_IsString(argv[0]) || JS_IsRegExp(argv[0]) || JS_IsFunction(c, argv[0]))
    return throw_type("p.mask got %s; it takes a mask of penstock.mask, made once outside of prepare, or a list of tokens", describe(argv[0]));
  if (!read_tokens(argv[0], "the mask", vocabulary, &list)) return JS_EXCEPTION;
  filled &= ~1;
  start_mask(0);
  for (int i = 0; i < list.n; i++) mask_words[list.token[i] >> 5] |= 1u << (list.token[i] & 31);
  js_free(c, list.token);
  return JS_UNDEFINED;
}

static JSValue change_mask(JSValueConst v, int to) {
  Tokens list;
  if (!only_in(PREPARE, "p") || !read_tokens(v, to ? "what to allow" : "what to ban", vocabulary, &list)) return JS_EXCEPTION;
  start_mask(!to);
  for (int i = 0; i < list.n; i++) {
    u32 bit = 1u << (list.token[i] & 31), *word = &mask_words[list.token[i] >> 5];
    *word = to ? *word | bit : *word & ~bit;
  }
  js_free(js, list.token);
  return JS_UNDEFINED;
}
static FUNCTION(allow_token) { return change_mask(argv[0], 1); }
static FUNCTION(ban_token) { return change_mask(argv[0], 0); }

static FUNCTION(bias_token) {
  JSValue r;
  if (!only_in(PREPARE, "p")) return JS_EXCEPTION;
  biased = filled & 2;
  r = add_bias(c, self, argc, argv);
  if (!JS_IsException(r)) filled |= 2;
  return r;
}

static FUNCTION(force) {
  Tokens list;
  if (!only_in(PREPARE, "p") || !read_tokens(argv[0], "what to force", MOST_FORCED, &list)) return JS_EXCEPTION;
  splice[0] = 0;
  splice[1] = list.n;
  memcpy(splice + 2, list.token, 4 * list.n);
  js_free(c, list.token);
  filled = list.n ? filled | 4 : filled & ~4;
  return JS_UNDEFINED;
}

static const JSCFunctionListEntry next_methods[] = {
  METHOD("mask", 1, set_mask), METHOD("allow", 1, allow_token), METHOD("ban", 1, ban_token), METHOD("bias", 2, bias_token), METHOD("force", 1, force),
};

JSValue next_of(void) {
  filled = 0;
  return JS_DupValue(js, next);
}

int next_answer(JSValueConst hook) {
  int any = !(filled & 1);
  for (int t = 0; t < vocabulary && !any; t += 32) any = (mask_words[t >> 5] & (vocabulary - t < 32 ? (1u << (vocabulary - t)) - 1 : ~0u)) != 0;
  if (!any)
    STOP(hook, "prepare allows no token: what was given to p.mask, p.allow and p.ban leaves none");
  return filled;
}

// # accept(token)

// splice(back, tokens) is what accept may return. It is checked where it is used.
static FUNCTION(splice_of) {
  JSValue answer = JS_NewObject(c);
  set(answer, "back", JS_DupValue(c, argv[0]));
  set(answer, "tokens", JS_DupValue(c, argv[1]));
  return answer;
}

// inserted reports whether the last splice has put the last token of n there: the host takes no
// splice in answer to it.
static int splice_from = -1;
static int inserted(int n, u32 token) {
  int i = n - 1 - splice_from;
  return splice_from >= 0 && i >= 0 && (u32)i < splice[1] && splice[2 + i] == token;
}

int accept_answer(JSValueConst r, JSValueConst hook, u32 token) {
  Tokens list = {NULL, 0};
  int back, all = 0, generated;
  JSValue v;
  if (JS_IsUndefined(r) || JS_IsNull(r)) return 0;
  if (JS_IsBool(r)) return JS_VALUE_GET_BOOL(r);
  if (JS_IsString(r) && !strcmp(describe(r), "\"stop\"")) return 1;
  if (!JS_IsObject(r) || JS_IsFunction(js, r) || JS_IsArray(r))
    STOP(hook, "accept returned %s; it must return \"stop\", penstock.splice(back, tokens) or nothing", describe(r));
  v = JS_GetPropertyStr(js, r, "back");
  if (JS_IsException(v) || !read_int(v, "the number of tokens to take back", 0, 1 << 24, &back)) stop_call();
  JS_FreeValue(js, v);
  v = JS_GetPropertyStr(js, r, "tokens");
  if (JS_IsException(v) || (!JS_IsUndefined(v) && !read_tokens(v, "the tokens to insert", MOST_FORCED, &list))) stop_call();
  JS_FreeValue(js, v);
  all = host_history(0, NULL, 0);
  generated = all - (int)host_param(PARAM_PROMPT_TOKENS);
  if (back > hold)
    STOP(hook, "accept takes %d tokens back, and the script holds %d: write `export const plugin = {hold: %d}`, so that the client is not shown them before", back, hold, back);
  if (back > generated)
    STOP(hook, "accept takes %d tokens back, and the answer has %d", back, generated);
  if (inserted(all, token))
    STOP(hook, "accept returns a splice for a token that its last splice has inserted; return nothing for these, or what is inserted is replaced for ever");
  splice_from = all - back;
  splice[0] = back;
  splice[1] = list.n;
  memcpy(splice + 2, list.token, 4 * list.n);
  js_free(js, list.token);
  return 2;
}

// # stop(text)

JSValue new_text(int bytes) { return JS_NewStringLen(js, text, bytes); }

int stop_answer(JSValueConst r, JSValueConst hook, int bytes) {
  static const char *const answers[] = {"\"show\"", "\"end\"", "\"hide\"", "\"hold\""};
  size_t all = held + bytes;
  int answer = -1;
  if (JS_IsUndefined(r) || JS_IsNull(r) || JS_IsBool(r)) answer = JS_IsBool(r) && JS_VALUE_GET_BOOL(r);
  else if (JS_IsString(r)) {
    const char *given = describe(r);
    for (int i = 0; i < COUNT(answers); i++) if (!strcmp(given, answers[i])) answer = i;
  } else if (JS_IsObject(r) && !JS_IsFunction(js, r) && !JS_IsArray(r)) {
    Text end;
    JSValue v = JS_GetPropertyStr(js, r, "end");
    if (JS_IsException(v) || !read_text(v, "the text to end with", &end)) stop_call();
    JS_FreeValue(js, v);
    size_t first = end.n < held ? end.n : held;
    if (end.n <= all && !memcmp(end.bytes, held_text, first) && !memcmp(end.bytes + first, text, end.n - first)) {
      JS_FreeCString(js, end.bytes);
      return -1 - (int)end.n;
    }
    STOP(hook, "stop ends with a text of %zu bytes that is no beginning of the %zu that are new or held back", end.n, all);
  }
  if (answer < 0)
    STOP(hook, "stop returned %s; it must return \"end\", \"hide\", \"hold\", {end: text} or nothing", describe(r));
  if (answer == 3 && all > held_room) {
    char *larger = js_realloc(js, held_text, 2 * all);
    if (!larger) stop_call();
    held_text = larger;
    held_room = 2 * all;
  }
  if (answer == 3) memcpy(held_text + held, text, bytes);
  held = answer == 3 ? all : 0;
  return answer;
}

// # filter(text, last)

// part reads a text that an answer of filter may have; one that it has not has no bytes.
static Text part(JSValueConst r, const char *name, const char *what) {
  Text text = {NULL, 0};
  JSValue v = JS_GetPropertyStr(js, r, name);
  if (JS_IsException(v) || (!JS_IsUndefined(v) && !read_text(v, what, &text))) stop_call();
  JS_FreeValue(js, v);
  return text;
}

// The host has the same bounds, but knows no lines.
int filter_answer(JSValueConst r, JSValueConst hook, int bytes, int last) {
  static int64_t given, written;
  static size_t kept;
  Text show = {NULL, 0}, hold = {NULL, 0};
  if (JS_IsString(r)) {
    if (!read_text(r, "the text to show", &show)) stop_call();
  } else if (JS_IsObject(r) && !JS_IsFunction(js, r) && !JS_IsArray(r)) {
    show = part(r, "show", "the text to show");
    hold = part(r, "hold", "the text to hold back");
  }
  if (!show.bytes && !hold.bytes && !JS_IsUndefined(r) && !JS_IsNull(r))
    STOP(hook, "filter returned %s; it must return a text, {show: text, hold: text} or nothing", describe(r));
  if (hold.n && (hold.n > (size_t)bytes || memcmp(hold.bytes, text + bytes - hold.n, hold.n)))
    STOP(hook, "filter holds back a text of %zu bytes that is no end of the %d that it got", hold.n, bytes);
  if (hold.n && last)
    STOP(hook, "filter holds back %zu bytes of the last text, and nothing follows: when its second argument is true it must show all that it wants to be seen", hold.n);
  if (hold.n > MOST_HELD)
    STOP(hook, "filter holds back %zu bytes of text, and may hold back %d: show the beginning of them", hold.n, MOST_HELD);
  given += bytes - kept;
  kept = hold.n;
  written += show.n;
  if (show.n > MOST_SHOWN || written > MOST_SHOWN + 8 * given)
    STOP(hook, "filter shows %zu bytes of text in the place of %d; %d in a call, and 8 for each byte of the answer and as many more in all, are the most", show.n, bytes, MOST_SHOWN);
  if (show.bytes) host_emit(show.bytes, show.n);
  JS_FreeCString(js, show.bytes);
  JS_FreeCString(js, hold.bytes);
  return (int)hold.n;
}

// # draft(n)

int draft_answer(JSValueConst r, JSValueConst hook, int n) {
  Tokens list;
  int k;
  if (JS_IsUndefined(r) || JS_IsNull(r)) return 0;
  if (!read_tokens(r, "what draft returned", MOST_FORCED, &list)) stop_call();
  k = list.n < n ? list.n : n;
  memcpy(splice + 2, list.token, 4 * k);
  js_free(js, list.token);
  return k;
}

// # Start

static const JSCFunctionListEntry functions[] = {METHOD("splice", 2, splice_of)};

void sampling_functions(JSValue penstock) {
  JS_SetPropertyFunctionList(js, penstock, functions, COUNT(functions));
  candidates = JS_NewObject(js);
  JS_SetPropertyFunctionList(js, candidates, candidate_methods, COUNT(candidate_methods));
  next = JS_NewObject(js);
  JS_SetPropertyFunctionList(js, next, next_methods, COUNT(next_methods));
  weight_view = JS_UNDEFINED;
}

// sampling_start makes the buffers that the script's plan needs; 0: there is no memory for them.
int sampling_start(void) {
  int n = logits_view ? vocabulary : candidates_cap;
  if (row) return 1;
  ids = logits_view ? NULL : reserve(8 * n);
  shown_ids = logits_view ? NULL : reserve(4 * n);
  row = logits_view ? reserve(4 * n) : (float *)(ids ? ids + n : NULL);
  weights = reserve(4 * n);
  mask_words = reserve(4 * mask_size + 4);
  return row && (logits_view || shown_ids) && weights && mask_words;
}

int sampling_bind(int samples, int prepares, int splices, int texts) {
  int refused = 0;
  if (samples) refused |= logits_view ? host_bind(BUFFER_LOGITS, row, 4 * vocabulary) : host_bind(BUFFER_CANDIDATES, ids, 8 * candidates_cap);
  if (prepares) refused |= host_bind(BUFFER_MASK, mask_words, 4 * mask_size);
  if (samples || prepares) refused |= host_bind(BUFFER_BIAS, bias, sizeof bias);
  if (splices) refused |= host_bind(BUFFER_SPLICE, splice, sizeof splice);
  if (texts) refused |= host_bind(BUFFER_TEXT, text, sizeof text);
  return !refused;
}
