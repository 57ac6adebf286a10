// SPDX-License-Identifier: MIT
// The C face of llama.cpp that package native calls.
//
// No function throws, aborts or asserts on what a request can contain: each checks what llama.cpp
// would assert, catches what it throws, and returns a ps_code with the reason in *err. Handles are
// not locked: package native lets no two calls on one context or sampler overlap, and frees a model
// only after everything that was built on it.
#ifndef PENSTOCK_H
#define PENSTOCK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "params.h"

#ifdef __cplusplus
#define PS_NOEXCEPT noexcept
extern "C" {
#else
#define PS_NOEXCEPT
#endif

enum ps_code {
    PS_OK = 0,
    PS_INVALID = 1,     // an argument is wrong; nothing was done
    PS_FAILED = 2,      // llama.cpp refused or failed
    PS_NO_MEMORY = 3,   // memory could not be had
    PS_NO_CELLS = 4,    // the KV cache has no room; nothing was computed
    PS_ABORTED = 5,     // stopped by ps_context_abort
    PS_CANCELLED = 6,   // stopped by the progress callback, or nobody waits for it
    PS_UNSUPPORTED = 7, // llama.cpp does not know this kind of model
    PS_NO_TOKEN = 8,    // no token is left to choose from
};

typedef struct ps_error {
    int32_t code;
    char text[1020]; // zero-terminated reason; empty where code is PS_OK
} ps_error;

// Bytes owned by the caller, freed by ps_text_free.
typedef struct ps_text {
    char *data;
    size_t size;
} ps_text;

void ps_text_free(ps_text *text) PS_NOEXCEPT;

// ---- process ------------------------------------------------------------------------------------

// Receives whole lines without their newline, from any thread. Levels: 1 debug, 2 info, 3 warn, 4
// error.
typedef void (*ps_log_fn)(int32_t level, char *line, size_t size);

void ps_start(ps_log_fn log) PS_NOEXCEPT;
void ps_log_level(int32_t lowest) PS_NOEXCEPT; // lower lines are dropped before they reach the callback

const char *ps_version(void) PS_NOEXCEPT;

// Gives memory that was freed back to the system, where the C library (glibc) keeps it for later.
// Threads that allocate meanwhile wait.
void ps_return_memory(void) PS_NOEXCEPT;
int32_t ps_system_info(ps_text *out, ps_error *err) PS_NOEXCEPT;

typedef struct ps_device {
    char name[64], description[192], backend[64];
    char buffer[64]; // the type of its buffers, as overrides of tensors name it; empty: it has none
    int32_t kind; // ggml_backend_dev_type: 0 CPU, 1 GPU, 2 integrated GPU, 3 accelerator, 4 meta
    size_t free, total; // bytes of memory; 0 where unknown
} ps_device;

int32_t ps_device_count(void) PS_NOEXCEPT;
// Binds threads to the memory of a machine with several nodes, for the rest of the process: a
// ggml_numa_strategy. Only the first counts.
void ps_numa(int32_t strategy) PS_NOEXCEPT;
int32_t ps_device_at(int32_t index, ps_device *out, ps_error *err) PS_NOEXCEPT;

// Makes the n devices at the other end of a socket known by these names, until ps_remote_close.
// What answers there must do so to the end: ggml ends the process when it does not. Nothing may use
// the devices any more when they are closed; the socket stays the caller's.
int32_t ps_remote_open(int32_t socket, const char *const *names, size_t n, int32_t *endpoint, ps_error *err) PS_NOEXCEPT;
void ps_remote_close(int32_t endpoint) PS_NOEXCEPT;
// Computes with devices of this machine what comes over a socket, until its other end is closed.
// Weights that were sent once are kept in the folder cache, unless that is empty. ggml ends the
// process on a request that it does not understand.
int32_t ps_serve_devices(int32_t socket, const char *const *names, size_t n, size_t threads, const char *cache, ps_error *err) PS_NOEXCEPT;

// How many objects of each kind exist; tests look for leaks with it.
typedef struct ps_live {
    int64_t models, contexts, samplers, templates, answers, states, adapters, projectors, media;
} ps_live;

void ps_live_objects(ps_live *out) PS_NOEXCEPT;

typedef struct ps_named_number {
    const char *name;
    int64_t value;
} ps_named_number;

// Struct sizes, field offsets and enum values of llama.h that the shim relies on, as it was
// compiled with them.
const ps_named_number *ps_llama_layout(size_t *count) PS_NOEXCEPT;

// ---- levels of the CPU --------------------------------------------------------------------------

// A build with levels (`build.sh DEST levels`) has the kernels several times, each for CPUs of one
// level; any other build has none of these levels. They are numbered from the lowest, which is in
// use at first. One is chosen before anything else is called.
int32_t ps_level_count(void) PS_NOEXCEPT;
const char *ps_level_name(int32_t level) PS_NOEXCEPT;
bool ps_level_offered(int32_t level) PS_NOEXCEPT; // whether the CPU says that it has what the level needs
void ps_level_use(int32_t level) PS_NOEXCEPT;
// Computes in a forked child with a level (-1: with what is in use), and reports whether that
// works. For tests crash ends the child.
bool ps_level_try(int32_t level, bool crash) PS_NOEXCEPT;

// ---- kernels of the CPU -------------------------------------------------------------------------

#include "kernel_api.h"

// ---- model --------------------------------------------------------------------------------------

typedef struct ps_model ps_model;

// Called with 0..1 on the loading thread; false stops the load.
typedef bool (*ps_progress_fn)(float progress, uintptr_t user);

int32_t ps_model_load(const char *path, const ps_model_params *params, ps_progress_fn progress, uintptr_t user,
                      ps_model **out, ps_error *err) PS_NOEXCEPT;
void ps_model_free(ps_model *model) PS_NOEXCEPT;

// The weights of products that have one ggml_type and are computed by one family of kernels.
typedef struct ps_weights {
    int32_t type, family;
    uint64_t bytes;
    char device[64]; // where family is PS_KERNELS_DEVICE
} ps_weights;

// Writes at most capacity of them, most bytes first, and sets *count to how many there are.
int32_t ps_model_weights(const ps_model *model, ps_weights *out, size_t capacity, size_t *count, ps_error *err) PS_NOEXCEPT;

// How many tokens of a pass the CPU's kernels for this model's weights compute at once: a pass of
// fewer takes as long.
int32_t ps_model_tokens_at_once(const ps_model *model) PS_NOEXCEPT;
int32_t ps_model_describe(ps_model *model, ps_model_info *out, ps_error *err) PS_NOEXCEPT;
int32_t ps_model_metadata(ps_model *model, int32_t index, ps_text *key, ps_text *value, ps_error *err) PS_NOEXCEPT;
// The chat template called name, "" for the default; empty where the model has none.
int32_t ps_model_template(ps_model *model, const char *name, ps_text *out, ps_error *err) PS_NOEXCEPT;
// What the classifier's score at index means; empty where the model does not say.
int32_t ps_model_class(ps_model *model, int32_t index, ps_text *out, ps_error *err) PS_NOEXCEPT;

// ---- vocabulary ---------------------------------------------------------------------------------

enum { PS_END_OF_GENERATION = 1 << 30 }; // in addition to the bits of llama_token_attr

// The bytes of all tokens end to end; token t is text[offsets[t]:offsets[t+1]]. offsets has
// vocabulary+1 entries. With special, control tokens have their text, else they are empty.
int32_t ps_vocabulary_pieces(ps_model *model, bool special, ps_text *text, uint32_t *offsets, ps_error *err) PS_NOEXCEPT;
int32_t ps_vocabulary_attributes(ps_model *model, int32_t *attributes, ps_error *err) PS_NOEXCEPT;
// The special tokens, which are found in a text before all others, in the order in which llama.cpp
// looks for them: the first of two that overlap in a text wins. tokens and offsets have
// vocabulary+1 entries; the text of tokens[i] is text[offsets[i]:offsets[i+1]].
int32_t ps_vocabulary_specials(ps_model *model, int32_t *tokens, size_t *count, ps_text *text, uint32_t *offsets, ps_error *err) PS_NOEXCEPT;

// Both write at most capacity and set *count to what there is, so a second call with room enough
// completes a first.
int32_t ps_tokenize(ps_model *model, const char *text, size_t size, bool add_special, bool parse_special,
                    int32_t *tokens, size_t capacity, size_t *count, ps_error *err) PS_NOEXCEPT;
int32_t ps_detokenize(ps_model *model, const int32_t *tokens, size_t n, bool unparse_special,
                      char *text, size_t capacity, size_t *count, ps_error *err) PS_NOEXCEPT;

// ---- context ------------------------------------------------------------------------------------

typedef struct ps_context ps_context;

int32_t ps_context_new(ps_model *model, const ps_context_params *params, ps_context **out, ps_error *err) PS_NOEXCEPT;
void ps_context_free(ps_context *context) PS_NOEXCEPT;
void ps_context_limits_of(const ps_context *context, ps_context_limits *out) PS_NOEXCEPT;

// Runs one forward pass over n tokens and waits for it. *rows is set to the first of the output
// rows, in batch order; it stays valid until the next decode. Where the output is not logits, every
// token must be an output; where it is scores, *rows is null. *states is set to a list, for each of
// the layers, of the first of the hidden states of these rows, each limits.state wide, for as long
// as *rows; without layers, or if there are none, to null. The layers are from 0 to limits.layers,
// each once: 0 is the last one after the norm, the others count from 1.
int32_t ps_decode(ps_context *context, size_t n, const int32_t *tokens, const int32_t *positions,
                  const int32_t *sequences, const bool *outputs, const int32_t *layers, size_t n_layers, float **rows,
                  float ***states, ps_error *err) PS_NOEXCEPT;
// Lets that many threads compute the passes from now on, and no more than the context was made
// with. What is computed stays the same to the bit; where it would not, nothing changes.
void ps_context_use_threads(ps_context *context, int32_t most) PS_NOEXCEPT;
// What the last pass took, in ns.
typedef struct {
    uint64_t launch;  // until llama.cpp had planned and launched it; what the CPU computes is in it
    uint64_t wait;    // for devices, after that
    uint64_t copy;    // of its logits from a device, by what such a copy took lately
    uint64_t stalled; // threads waited for others that lost their processor to another program, all together
} ps_pass_times;
void ps_context_times(const ps_context *context, ps_pass_times *out) PS_NOEXCEPT;
// The scores of a sequence of the last pass; they stay valid until the next.
int32_t ps_context_scores(ps_context *context, int32_t seq, const float **scores, ps_error *err) PS_NOEXCEPT;
// Has passes wait between two graph nodes (CPU only), or go on. From any thread.
void ps_context_pause(ps_context *context, bool pause) PS_NOEXCEPT;
// Makes a running decode stop between two graph nodes (CPU only). From any thread.
void ps_context_abort(ps_context *context) PS_NOEXCEPT;

// What a context and its model take of one device's memory, in bytes.
typedef struct ps_device_memory {
    char name[64];
    int32_t kind; // as in ps_device; the CPU's is main memory
    size_t plain_weights; // in main memory as the file has them, so that they may be its pages
    size_t weights, cells, compute; // other weights, KV cache and recurrent states, buffers of a pass
    size_t free, total; // of the device; 0 where unknown
} ps_device_memory;

// Writes at most capacity of them, main memory first, and sets *count to how many there are.
int32_t ps_context_memory(const ps_context *context, ps_device_memory *out, size_t capacity, size_t *count, ps_error *err) PS_NOEXCEPT;

// ---- heads --------------------------------------------------------------------------------------

// A head guesses how a text goes on. It is a context of the same model with the same sizes, or of
// another model that is a head, whose own passes nobody asks for; the context that it follows feeds
// it.
enum { PS_MOST_DRAFTED = 256 };

// Whether a model can be the head of another one.
bool ps_model_is_head_for(const ps_model *head, const ps_model *model) PS_NOEXCEPT;

typedef struct ps_head_ask {
    int32_t sequence, token, position, most; // the token that comes next, which the model has not computed, and how many are to follow
    int32_t drafted;                          // that are guessed
    float gap;                                // between the logits of the least sure of them and of the next best
    int32_t tokens[PS_MOST_DRAFTED];
} ps_head_ask;

// Reads the target's last pass, whose columns are given as they were for ps_decode. Where it was
// padded, what has no logits is padding. After an error the head knows less.
int32_t ps_head_follow(ps_context *head, const ps_context *target, size_t n, const int32_t *tokens, const int32_t *positions,
                       const int32_t *sequences, const bool *outputs, bool padded, ps_error *err) PS_NOEXCEPT;
// Guesses for several sequences at once, each at most once, for about so long. Of a guess all but
// the first token are likelier than the next best by least, as a difference of logits.
int32_t ps_head_draft(ps_context *head, ps_head_ask *asks, size_t n, int64_t nanoseconds, float least, ps_error *err) PS_NOEXCEPT;
// The model's sequence has its first n positions left, or, where it has fewer, is as it was.
int32_t ps_head_cut(ps_context *head, int32_t seq, int32_t n, ps_error *err) PS_NOEXCEPT;
// The sequence to has the first n positions of another.
int32_t ps_head_share(ps_context *head, int32_t from, int32_t to, int32_t n, ps_error *err) PS_NOEXCEPT;

// ---- pictures and sounds ------------------------------------------------------------------------

#include "media_api.h"

// ---- adapters -----------------------------------------------------------------------------------

typedef struct ps_adapter ps_adapter; // a LoRA adapter of one model

// Loads a file. llama.cpp trusts it: check it first. Passes that follow a change of adapters wait
// meanwhile.
int32_t ps_adapter_load(ps_model *model, const char *path, ps_adapter **out, ps_error *err) PS_NOEXCEPT;
// No context may use it any more.
void ps_adapter_free(ps_adapter *adapter) PS_NOEXCEPT;
// Sets with what passes compute from the next one on: n adapters, each with its scale. They must
// live until others are set.
int32_t ps_context_set_adapters(ps_context *context, const ps_adapter *const *adapters, const float *scales, size_t n,
                                ps_error *err) PS_NOEXCEPT;
// Has each layer from first to last add its row of values to what it gives on; row 0 is layer 1's.
// None where n is 0.
int32_t ps_context_set_control_vector(ps_context *context, const float *values, size_t n, int32_t first, int32_t last,
                                      ps_error *err) PS_NOEXCEPT;

// ---- KV memory ----------------------------------------------------------------------------------

// Positions are [p0, p1); negative bounds are open.
int32_t ps_memory_remove(ps_context *context, int32_t seq, int32_t p0, int32_t p1, ps_error *err) PS_NOEXCEPT;
// The first and last position of seq in memory; both -1 where it is empty.
int32_t ps_memory_range(ps_context *context, int32_t seq, int32_t *first, int32_t *last, ps_error *err) PS_NOEXCEPT;

// Sharing, saving and restoring copy cells. The call that begins a copy settles what is copied; the
// bytes follow with ps_copy_continue. There is one copy at a time, and whatever would change what
// it reads or writes finishes it first. A pass does not: see ps_copy_target.

// Makes dst, which must be empty or begin with fewer positions of the same, begin with the first n
// positions of src. Only what it has not got is copied, and after an error it is empty.
int32_t ps_memory_share(ps_context *context, int32_t src, int32_t dst, int32_t n, ps_error *err) PS_NOEXCEPT;
// The cells of one sequence in main memory, and what a head that follows it knows of it; *bytes is
// how much memory they take. A null head: there is none.
typedef struct ps_state ps_state;
int32_t ps_state_save(ps_context *context, ps_context *head, int32_t seq, ps_state **out, size_t *bytes, ps_error *err) PS_NOEXCEPT;
// Replaces seq by the first n positions of a state that was saved from a context with the same
// parameters, with or without a head. A head of which it has nothing begins at the end of it.
int32_t ps_state_restore(ps_context *context, ps_context *head, int32_t seq, const ps_state *state, int32_t n, ps_error *err) PS_NOEXCEPT;
// A checkpoint: the part of a sequence that cannot be cut, as it is now, which are the states of
// recurrent layers and the cells of sliding windows. It is copied at once, into the memory of a
// spent one if that is given and fits; that is not freed. PS_UNSUPPORTED where the memory has no
// such part.
int32_t ps_checkpoint_save(ps_context *context, int32_t seq, ps_state *spent, ps_state **out, size_t *bytes, ps_error *err) PS_NOEXCEPT;
// Cuts seq, which has n positions or more, to the n that it had when the checkpoint was taken.
// After an error seq is empty.
int32_t ps_checkpoint_restore(ps_context *context, int32_t seq, const ps_state *checkpoint, int32_t n, ps_error *err) PS_NOEXCEPT;
// A state without contents, for what was saved to a file; ps_state_restore refuses it unless they
// are those of a state.
int32_t ps_state_new(size_t size, int32_t n_positions, ps_state **out, size_t *bytes, ps_error *err) PS_NOEXCEPT;
// The contents of a state, which live as long as it. They are complete once nothing is left to
// copy.
uint8_t *ps_state_data(const ps_state *state, size_t *size) PS_NOEXCEPT;
// A state may be freed while it is copied.
void ps_state_free(ps_state *state) PS_NOEXCEPT;
// Goes on with the copy for about so long, to its end where that is negative; *done tells whether
// nothing is left to copy. A copy that a thread makes beside passes is only looked at, unless it is
// to be made here.
int32_t ps_copy_continue(ps_context *context, int64_t nanoseconds, bool here, bool *done, ps_error *err) PS_NOEXCEPT;
// The sequence that is being filled by the copy, or -1. A pass over it computes from what is there
// so far.
int32_t ps_copy_target(const ps_context *context) PS_NOEXCEPT;

// ---- sampler ------------------------------------------------------------------------------------

typedef struct ps_sampler ps_sampler;

enum ps_kind {
    PS_PENALTIES = 0, PS_DRY, PS_TOP_N_SIGMA, PS_TOP_K, PS_TYPICAL, PS_TOP_P, PS_MIN_P, PS_XTC, PS_TEMPERATURE, PS_INFILL,
    PS_KINDS,
};

enum ps_select { PS_SELECT_NONE = 0, PS_SELECT_DIST, PS_SELECT_GREEDY, PS_SELECT_MIROSTAT, PS_SELECT_MIROSTAT_V2, PS_SELECT_ADAPTIVE };

typedef struct ps_sampler_params {
    uint32_t seed;
    int32_t select; // ps_select: what chooses the token at the end of the chain; PS_SELECT_NONE leaves candidates
    int32_t min_keep, top_k, repeat_last_n, dry_allowed_length, dry_last_n;
    float temperature, dynatemp_range, dynatemp_exponent;
    float top_p, min_p, typical_p, top_n_sigma;
    float xtc_probability, xtc_threshold;
    float repeat_penalty, frequency_penalty, presence_penalty;
    float dry_multiplier, dry_base;
    float mirostat_tau, mirostat_eta;
    float adaptive_target, adaptive_decay;
} ps_sampler_params;

// Every pointer may be null where its count or size is 0. breakers holds zero-terminated strings
// end to end.
typedef struct ps_sampler_lists {
    const int32_t *kinds;
    size_t n_kinds;
    const int32_t *bias_tokens;
    const float *bias_values;
    size_t n_bias;
    const char *breakers;
    size_t breakers_size;
} ps_sampler_lists;

int32_t ps_sampler_new(ps_model *model, const ps_sampler_params *params, const ps_sampler_lists *lists,
                       ps_sampler **out, ps_error *err) PS_NOEXCEPT;
void ps_sampler_free(ps_sampler *sampler) PS_NOEXCEPT;

// Chooses a token from a row of logits, which is left as it was.
int32_t ps_sampler_sample(ps_sampler *sampler, const float *row, size_t size, int32_t *token, ps_error *err) PS_NOEXCEPT;

// Takes what the chain needs of a row, which is not looked at after that. *taken is false where the
// chain has to see the whole row.
int32_t ps_sampler_take(ps_sampler *sampler, const float *row, size_t size, bool *taken, ps_error *err) PS_NOEXCEPT;
// Runs the chain on candidates: ids[:n] with logits[:n], or the whole row where n is negative; what
// was taken of it where row is null too. *chosen is the token or -1; *count is how many candidates
// are left, or -1 where the whole row is left, in order. ps_sampler_candidates copies them.
int32_t ps_sampler_apply(ps_sampler *sampler, const float *row, size_t size, const int32_t *ids, const float *logits,
                         int64_t n, int64_t *count, int32_t *chosen, ps_error *err) PS_NOEXCEPT;
// Copies n of the candidates that ps_sampler_apply left; ids may be null.
void ps_sampler_candidates(const ps_sampler *sampler, int32_t *ids, float *logits, size_t n) PS_NOEXCEPT;

// Has the chain look at whole rows from now on, instead of a shortlist of candidates. The tokens
// are the same; tests compare the two.
void ps_sampler_use_whole_rows(ps_sampler *sampler) PS_NOEXCEPT;

// Tells the chain which token was chosen.
int32_t ps_sampler_accept(ps_sampler *sampler, int32_t token, ps_error *err) PS_NOEXCEPT;
// Makes history the accepted tokens, whose first n_prompt are the prompt. Random numbers go on from
// where they are.
int32_t ps_sampler_rewind(ps_sampler *sampler, const int32_t *history, size_t n, size_t n_prompt, ps_error *err) PS_NOEXCEPT;

// The k highest logits of a row, best first, lower ids first among equals; fewer where fewer are
// above -infinity. Returns how many.
int32_t ps_top_k(const float *row, size_t n, int32_t k, int32_t *ids, float *logits) PS_NOEXCEPT;

// What a row says as a whole: the natural logarithm of the sum of exp(logit), less which a logit is
// a log-probability, and the entropy in nats. NaN counts as -infinity; where all are that, so is
// *log_sum.
void ps_distribution(const float *row, size_t n, float *log_sum, float *entropy) PS_NOEXCEPT;

// Writes a row's n logits where the mask has a bit and -infinity elsewhere. The mask has (n + 31) /
// 32 words.
void ps_mask_row(float *to, const float *row, size_t n, const uint32_t *mask) PS_NOEXCEPT;
// The index of the first logit of a row that is NaN or +infinity; n where there is none.
size_t ps_first_invalid(const float *row, size_t n) PS_NOEXCEPT;

// ---- chat template ------------------------------------------------------------------------------

typedef struct ps_template ps_template;

#define PS_TEMPLATE_STACK (1ull << 30) /* bytes of address space */

// source overrides the model's own template; empty takes the model's, or ChatML where it has none.
// It may also be the name of a template that llama.cpp has code for. Of one that llama.cpp cannot
// read, answers are known to be text and nothing more, and ps_template_render needs a write.
int32_t ps_template_new(ps_model *model, const char *source, size_t size, ps_template **out, ps_error *err) PS_NOEXCEPT;
// The names of templates that llama.cpp has code for, a line each.
int32_t ps_template_names(ps_text *out, ps_error *err) PS_NOEXCEPT;
void ps_template_free(ps_template *tmpl) PS_NOEXCEPT;
// What these take and give is JSON; native/template.go has the shapes.
int32_t ps_template_describe(const ps_template *tmpl, ps_text *out, ps_error *err) PS_NOEXCEPT;
// Makes the text of what a template is told, which is JSON. Anything but 0: there is none.
// ps_text_free frees out.
typedef int32_t (*ps_write_fn)(uintptr_t user, char *told, size_t size, ps_text *out);
// *given_up may become 1 meanwhile: then rendering ends soon, with PS_CANCELLED. write is null
// where llama.cpp's own interpreter is to make the text.
int32_t ps_template_render(const ps_template *tmpl, const char *request, size_t size, const int32_t *given_up, ps_write_fn write,
                           uintptr_t user, ps_text *out, ps_error *err) PS_NOEXCEPT;

enum { PS_JSON_NESTING = 100 };
// PS_INVALID says what of a text of JSON, which is to become part of what these take, exceeds the
// bounds of all JSON that is parsed here.
int32_t ps_json_check(const char *text, size_t size, ps_error *err) PS_NOEXCEPT;

// ---- answers ------------------------------------------------------------------------------------

// Takes the answer to a rendered conversation apart, in JSON as native/template.go has it.
typedef struct ps_answer ps_answer;

int32_t ps_answer_new(const char *format, size_t size, ps_answer **out, ps_error *err) PS_NOEXCEPT;
void ps_answer_free(ps_answer *answer) PS_NOEXCEPT;
// What follows a text: more, nothing, or nothing though it may end with half a mark.
enum { PS_ANSWER_GROWS, PS_ANSWER_COMPLETE, PS_ANSWER_CUT };
// Reads the answer with what follows it at its end, and gives what that adds to its parts.
int32_t ps_answer_add(ps_answer *answer, const char *text, size_t size, int32_t end, ps_text *out, ps_error *err) PS_NOEXCEPT;

#ifdef __cplusplus
}
#endif
#endif
