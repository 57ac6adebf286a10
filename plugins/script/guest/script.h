// SPDX-License-Identifier: MIT
// What the guest's files share. Each is one idea: engine.c the engine, its memory, time and errors;
// values.c what is read from JavaScript; vocabulary.c tokens, texts and masks; sampling.c what
// hooks of a token do; request.c what a script asks and says; program.c branches; plan.c what a
// script exports; hooks.c the calls of the host.
//
// A script may run code of its own wherever a value of it is converted: by getters, proxies,
// valueOf, toString. So a function here first converts all of its arguments to C, and only then
// looks at buffers, which such code may have changed through another function of this guest.
#pragma once
#include "host.h"
#include "quickjs.h"

#define SCRIPT_FILE "script.js"
#define FUNCTION(name) JSValue name(JSContext *c, JSValueConst self, int argc, JSValueConst *argv)
#define METHOD(name, length, function) JS_CFUNC_DEF2(name, length, function, JS_PROP_ENUMERABLE)
#define COUNT(list) ((int)(sizeof(list) / sizeof *(list)))

// engine.c
extern JSRuntime *runtime;
extern JSContext *js; // the one context there is
void engine_start(void);
// call_begin is for before code of the script runs in a call of the host. Where the call may end in
// a trap, it does so as soon as time is over; others unwind, and refuse.
void call_begin(int may_trap);
void blame(int line, int column); // where an error is whose own place is not known
void blame_function(JSValueConst function);
int refuse(void);              // gives the pending exception to fail, and is 1
_Noreturn void stop_call(void); // the same, and ends the call
int refuse_text(JSValueConst function, const char *format, ...); // gives a sentence and the function's line to fail, and is 1
#define STOP(...) (refuse_text(__VA_ARGS__), __builtin_trap())
int is_out_of_time(void);
void throw_interrupted(void); // no script catches it
const char *describe(JSValueConst value); // for errors: what kind of value it is, in few words; overwritten by the next call
JSValue throw_type(const char *format, ...);
JSValue throw_range(const char *format, ...);
int host_has(const char *feature);
void *reserve(size_t bytes); // memory of the guest's own, zeroed, which the engine then has less of; NULL: none is left

// A buffer that host functions of the form (ptr, limit) -> length fill, valid until the next use,
// and a 0 after what they have written. -1: out of memory, an exception is pending.
extern char *scratch;
extern int scratch_size;
int scratch_room(int bytes); // 0: out of memory, an exception is pending
#define READ(call) ({ char *ptr = scratch; int limit = scratch_size - 1, n_ = (call); \
  if (n_ > limit) n_ = scratch_room(n_ + 1) ? (ptr = scratch, limit = n_, (call)) : -1; \
  if (n_ >= 0) scratch[n_] = 0; \
  n_; })

// values.c
typedef struct { u32 *token; int n; } Tokens; // the receiver's to js_free
typedef struct { const char *bytes; size_t n; } Text; // to JS_FreeCString
int read_int(JSValueConst value, const char *name, int least, int most, int *result);
int read_number(JSValueConst value, const char *name, double *result);
int read_token(JSValueConst value, const char *name, u32 *token);
int read_tokens(JSValueConst value, const char *name, int most, Tokens *result); // a token, a list of tokens, or a text
int read_history(JSValueConst value, const char *name, int most, Tokens *result); // the same, with RESERVED among them
#define RESERVED 0xffffffffu // in a history: a part of a picture or a sound, which is no token
int read_text(JSValueConst value, const char *name, Text *result);
int read_json(JSValueConst value, const char *name, Text *result);
int read_option(JSValueConst options, const char *name, JSValue *result); // undefined: not given
int read_flag(JSValueConst options, const char *name, int *result);
int read_from(JSValueConst value, int *result); // where a list or text is to begin
int read_words(JSValueConst mask, u32 **words); // into the mask itself; 0: it is none of penstock.mask's, no exception
int read_floats(JSValueConst value, const char *name, int n, double **result); // the receiver's to js_free
JSValue read_scratch(int n, const char *name); // the JSON that READ has left there; n < 0: an exception is pending
JSValue new_tokens(const u32 *token, int n);
JSValue new_array(const void *items, int n, JSTypedArrayEnum type); // of a copy of n items of 4 bytes
JSValue new_view(void *items, int n, JSTypedArrayEnum type);
void set(JSValueConst object, const char *name, JSValue value);

// vocabulary.c
extern int vocabulary, mask_size; // tokens, words of a mask
void vocabulary_start(JSValue penstock);
const char *piece(u32 token, int *bytes);
JSValue piece_text(u32 token);
int piece_matches(JSValueConst regexp, u32 token); // -1: an exception is pending
int tokenize(Text text, int flags, Tokens *result);
JSValue detokenize(Tokens tokens);

// sampling.c
extern int hold, candidates_cap, logits_view;
extern int running; // the hook whose code runs
int sampling_start(void);
int sampling_bind(int samples, int prepares, int splices, int texts);
JSValue candidates_of(int n);
int candidates_answer(JSValueConst result, JSValueConst hook);
JSValue next_of(void);
int next_answer(JSValueConst hook);
int accept_answer(JSValueConst result, JSValueConst hook, u32 token);
int draft_answer(JSValueConst result, JSValueConst hook, int n);
JSValue new_text(int bytes); // what stop and filter get
int stop_answer(JSValueConst result, JSValueConst hook, int bytes);
int filter_answer(JSValueConst result, JSValueConst hook, int bytes, int last);
void sampling_functions(JSValue penstock);

// request.c
JSValue request_start(void); // gives the object penstock

// program.c
void program_start(void);
JSValue program_object(void);

// plan.c
extern JSValue penstock;
enum { SAMPLE, PREPARE, ACCEPT, STOP, FILTER, MESSAGES, TEMPLATE, DRAFT, RUN, HOOKS };
extern const char *const hook_names[HOOKS];
extern JSValue hooks[HOOKS]; // undefined: the script has none
int has(int hook);
extern int may_note, may_logprob, may_state;
int evaluate(void);  // compiles and runs the script of the configuration, unless that was done; not 0: refused
void emit_plan(void);
void blame_import(const char *name); // has an error be where the source names another file
