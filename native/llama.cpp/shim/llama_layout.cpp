// SPDX-License-Identifier: MIT
// What the shim relies on in llama.h. A test of native compares it with recorded values, so that a
// new llama.cpp that changes one of them fails there and not somewhere else.
#include "context.h"

#define SIZE(type) { "sizeof " #type, static_cast<int64_t>(sizeof(type)) }
#define FIELD(type, field) { "offsetof " #type "." #field, static_cast<int64_t>(offsetof(type, field)) }
#define VALUE(name) { #name, static_cast<int64_t>(name) }

static const ps_named_number numbers[] = {
    SIZE(bool), SIZE(llama_token), SIZE(llama_pos), SIZE(llama_seq_id),

    SIZE(llama_batch), FIELD(llama_batch, n_tokens), FIELD(llama_batch, token), FIELD(llama_batch, embd),
    FIELD(llama_batch, pos), FIELD(llama_batch, n_seq_id), FIELD(llama_batch, seq_id), FIELD(llama_batch, logits),

    SIZE(llama_model_params), FIELD(llama_model_params, n_gpu_layers), FIELD(llama_model_params, load_mode),
    FIELD(llama_model_params, progress_callback), FIELD(llama_model_params, vocab_only),
    FIELD(llama_model_params, check_tensors),

    SIZE(llama_context_params), FIELD(llama_context_params, n_ctx), FIELD(llama_context_params, n_batch),
    FIELD(llama_context_params, n_ubatch), FIELD(llama_context_params, n_seq_max),
    FIELD(llama_context_params, n_outputs_max), FIELD(llama_context_params, n_threads),
    FIELD(llama_context_params, flash_attn_type), FIELD(llama_context_params, type_k),
    FIELD(llama_context_params, abort_callback), FIELD(llama_context_params, no_perf),
    FIELD(llama_context_params, swa_full), FIELD(llama_context_params, kv_unified),

    SIZE(llama_token_data), FIELD(llama_token_data, id), FIELD(llama_token_data, logit), FIELD(llama_token_data, p),
    SIZE(llama_token_data_array), FIELD(llama_token_data_array, data), FIELD(llama_token_data_array, size),
    FIELD(llama_token_data_array, selected), FIELD(llama_token_data_array, sorted),

    SIZE(llama_logit_bias), SIZE(ggml_threadpool_params), FIELD(ggml_threadpool_params, n_threads),
    FIELD(ggml_threadpool_params, poll),

    VALUE(LLAMA_TOKEN_NULL), VALUE(LLAMA_DEFAULT_SEED), VALUE(LLAMA_VOCAB_TYPE_NONE), VALUE(LLAMA_VOCAB_TYPE_WPM),
    VALUE(LLAMA_TOKEN_ATTR_UNKNOWN), VALUE(LLAMA_TOKEN_ATTR_UNUSED), VALUE(LLAMA_TOKEN_ATTR_NORMAL),
    VALUE(LLAMA_TOKEN_ATTR_CONTROL), VALUE(LLAMA_TOKEN_ATTR_USER_DEFINED), VALUE(LLAMA_TOKEN_ATTR_BYTE),
    VALUE(LLAMA_FLASH_ATTN_TYPE_AUTO), VALUE(LLAMA_FLASH_ATTN_TYPE_DISABLED), VALUE(LLAMA_FLASH_ATTN_TYPE_ENABLED),
    VALUE(LLAMA_LOAD_MODE_NONE), VALUE(LLAMA_LOAD_MODE_MMAP), VALUE(LLAMA_LOAD_MODE_MLOCK),
    VALUE(LLAMA_LOAD_MODE_MMAP_MLOCK), VALUE(GGML_TYPE_F32), VALUE(GGML_TYPE_F16), VALUE(GGML_TYPE_BF16),
    VALUE(GGML_TYPE_Q4_0), VALUE(GGML_TYPE_Q4_1), VALUE(GGML_TYPE_Q5_0), VALUE(GGML_TYPE_Q5_1), VALUE(GGML_TYPE_Q8_0),
    VALUE(GGML_TYPE_IQ4_NL), VALUE(GGML_LOG_LEVEL_DEBUG), VALUE(GGML_LOG_LEVEL_INFO), VALUE(GGML_LOG_LEVEL_WARN),
    VALUE(GGML_LOG_LEVEL_ERROR), VALUE(GGML_LOG_LEVEL_CONT), VALUE(GGML_MAX_N_THREADS),
    VALUE(GGML_BACKEND_DEVICE_TYPE_CPU), VALUE(GGML_BACKEND_DEVICE_TYPE_GPU),
};

const ps_named_number * ps_llama_layout(size_t * count) noexcept {
    *count = sizeof(numbers) / sizeof(numbers[0]);
    return numbers;
}
