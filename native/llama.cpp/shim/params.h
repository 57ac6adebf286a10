// SPDX-License-Identifier: MIT
// How a model is loaded and how a context computes: what penstock.h hands on to llama.cpp, and what
// came of it. Package native knows the defaults.
#ifndef PENSTOCK_PARAMS_H
#define PENSTOCK_PARAMS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// Where tensors are kept whose names match a regular expression (ECMAScript, found anywhere in the
// name).
typedef struct ps_tensor_override {
    const char *pattern, *buffer; // the name of a buffer type, see ps_device
} ps_tensor_override;

// An entry of the model's metadata that is read as another value. Types are those of
// llama_model_kv_override_type.
typedef struct ps_metadata_override {
    const char *key, *text;
    int32_t type; // 0 integer, 1 number, 2 integer as a flag, 3 text
    int64_t integer;
    double number;
} ps_metadata_override;

// The fields of llama_model_params, in its order and with its numbers; pointers may be null where
// their count is 0.
typedef struct ps_model_params {
    const char *const *devices; // names of those that compute besides the CPU; null: all GPUs, if gpu_layers is not 0
    size_t n_devices;
    const ps_tensor_override *tensor_overrides;
    size_t n_tensor_overrides;
    int32_t gpu_layers; // negative: all; 0: no GPU is asked for anything, unless devices names it
    int32_t split_mode, load_mode, lazy_mode, main_gpu;
    const float *tensor_split; // shares of the devices
    size_t n_tensor_split;
    const ps_metadata_override *metadata_overrides;
    size_t n_metadata_overrides;
    bool vocab_only, check_tensors, no_repack, no_host;
    bool no_alloc; // neither weights nor vocabulary are read: contexts of such a model are for ps_context_memory alone
    bool load_mtp;
    int32_t threads; // that lay weights out
} ps_model_params;

// What a pass gives: logits of the tokens that are to have any, an embedding of each token, or
// scores of each sequence by the model's classifier.
enum { PS_LOGITS, PS_EMBEDDINGS, PS_SCORES };

typedef struct ps_context_params {
    int32_t output;
    uint32_t cells; // KV cells in all; 0: as many as the model was trained for
    uint32_t batch, ubatch, sequences, rows;
    uint32_t snapshots;             // states of a recurrent sequence to go back to, where the model allows it (n_rs_seq)
    int32_t threads, threads_batch; // for passes of one token, and for others
    uint32_t poll;                  // 0..100: how long idle workers spin before they sleep
    int32_t rope_scaling;           // llama_rope_scaling_type; -1: the model's
    int32_t flash_attention;        // -1 auto, 0 off, 1 on
    float rope_freq_base, rope_freq_scale;                                        // 0: the model's
    float yarn_ext_factor, yarn_attn_factor, yarn_beta_fast, yarn_beta_slow;      // negative: the model's
    uint32_t yarn_orig_ctx;                                                       // 0: the model's
    int32_t type_k, type_v;                                                       // ggml_type
    bool no_kv_offload, no_op_offload, swa_full;
    bool unified; // all sequences share one buffer of cells
    bool feeds_head; // passes keep what a head reads
    const struct ps_model *head; // that one is, with feeds_head; null: the head is in the model's own file
    struct ps_context *target; // that it is to guess for, with the head in the model's own file or as a model that is a head; null: it is none
} ps_context_params;

typedef struct ps_context_limits {
    int32_t cells, positions, batch, ubatch, sequences, rows;
    int32_t snapshots; // states of a recurrent sequence that can be gone back to
    int32_t trained; // positions the model was trained for, or that rope scaling extends that to; 0: unknown
    int32_t state; // width of the hidden states that passes can give beside logits; 0: they cannot
    int32_t layers; // of which they can give them, too: all, or 0
    bool memory; // false: the model keeps nothing between passes, so it cannot continue a text
} ps_context_limits;

typedef struct ps_model_info {
    uint64_t parameters, size; // count, bytes
    int32_t vocabulary, vocabulary_type;
    int32_t context_train, layers, embedding, window, metadata;
    int32_t embedding_in; // width of what a pass takes in place of a token
    int32_t embedding_out, classes; // widths of what a model gives instead of logits: of an embedding, and of the scores of a classifier (0: there is none)
    bool encoder, decoder, recurrent, hybrid, diffusion, add_bos, add_eos, add_sep;
    bool head; // its file has a head, which was loaded
    int32_t bos, eos, eot, sep, newline; // tokens; -1 where the vocabulary has none
    int32_t fim_prefix, fim_suffix, fim_middle, fim_repository, fim_separator;
    char file_type[64]; // of most weights, by llama.cpp's name
} ps_model_info;

#endif
