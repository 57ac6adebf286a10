// SPDX-License-Identifier: MIT
// The functions of the host, as docs/abi/v1.md describes them. Those from penstock-optional exist
// where host_has says so; each is called only by a script that asks for it.
#pragma once
#include <stdint.h>

typedef uint32_t u32;

#define IMPORT(module, name) __attribute__((import_module(module), import_name(name)))
#define REQUIRED(name) IMPORT("penstock", name) extern
#define OPTIONAL(name) IMPORT("penstock-optional", name) extern
#define EXPORT(name) __attribute__((export_name("penstock_" name)))

REQUIRED("config") int host_config(void *, int);
REQUIRED("messages") int host_messages(void *, int);
REQUIRED("history") int host_history(int, void *, int);
REQUIRED("feature") int host_feature(const void *, int);
REQUIRED("param") int64_t host_param(int);
REQUIRED("random") uint64_t host_random(void);
REQUIRED("vocab_size") int host_vocab_size(void);
REQUIRED("vocab") int host_vocab(void *, int);
REQUIRED("token_attr") int host_token_attr(int);
REQUIRED("special") int host_special(int);
REQUIRED("tokenize") int host_tokenize(const void *, int, int, void *, int);
REQUIRED("bind") int host_bind(int, void *, int);
REQUIRED("emit") void host_emit(const void *, int);
REQUIRED("fail") void host_fail(const void *, int);
REQUIRED("log") void host_log(int, const void *, int);

OPTIONAL("prompt") int host_prompt(const void *, int, void *, int);
OPTIONAL("text") int host_text(int, void *, int);
OPTIONAL("logprob") float host_logprob(void);
OPTIONAL("state") int host_state(void *, int);
OPTIONAL("part") int host_part(void);
OPTIONAL("request") int host_request(void *, int);
OPTIONAL("fuel") int64_t host_fuel(void);
OPTIONAL("elapsed") int host_elapsed(void);
OPTIONAL("output") int host_output(const void *, int);
OPTIONAL("note") int host_note(const void *, int);
OPTIONAL("decline") int host_decline(const void *, int);

OPTIONAL("branch_open") int host_branch_open(const void *, int);
OPTIONAL("branch_fork") int host_branch_fork(int);
OPTIONAL("branch_close") int host_branch_close(int);
OPTIONAL("branch_cut") int host_branch_cut(int, int);
OPTIONAL("branch_append") int host_branch_append(int, const void *, int, int);
OPTIONAL("branch_tokens") int host_branch_tokens(int, int, void *, int);
OPTIONAL("branches_wait") int host_branches_wait(void *, int, int, int);
OPTIONAL("branch_candidates") int host_branch_candidates(int, int, void *);
OPTIONAL("branch_logits") int host_branch_logits(int, void *, int);
OPTIONAL("branch_scores") int host_branch_scores(int, int, void *, int);
OPTIONAL("branch_open_messages") int host_branch_open_messages(const void *, int);
OPTIONAL("branch_mask") int host_branch_mask(int, const void *, int);
OPTIONAL("branch_mix") int host_branch_mix(int, const void *, int);
OPTIONAL("chain_open") int host_chain_open(const void *, int);
OPTIONAL("branch_sample") int host_branch_sample(int, int);
OPTIONAL("branch_run") int host_branch_run(int, int, int, int);
OPTIONAL("branch_state") int host_branch_state(int);
OPTIONAL("branch_reason") int host_branch_reason(void *, int);
OPTIONAL("show") int host_show(int, const void *, const void *, int);
OPTIONAL("adopt") int host_adopt(int, int, int);

// Codes of docs/abi/v1.md that are used here.
enum { BUFFER_CANDIDATES = 1, BUFFER_LOGITS, BUFFER_MASK, BUFFER_BIAS, BUFFER_SPLICE, BUFFER_TEXT };
enum { PARAM_PROMPT_TOKENS, PARAM_MAX_TOKENS, PARAM_CONTEXT_SIZE, PARAM_SEED, PARAM_TIME, PARAM_CHOICE, PARAM_CHOICES };
enum { ATTR_CONTROL = 1, ATTR_END = 2 };
enum { STATE_PENDING, STATE_READY, STATE_RUNNING, STATE_RAN, STATE_ENDED, STATE_STUCK };
