// SPDX-License-Identifier: MIT

package native

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// llama.cpp v0.5.0 on a 64-bit machine. A difference after a version bump means: look at what
// changed in llama.h, see whether the shim is still right, then record the new value.
var recorded = map[string]int64{
	"GGML_BACKEND_DEVICE_TYPE_CPU":                  0,
	"GGML_BACKEND_DEVICE_TYPE_GPU":                  1,
	"GGML_LOG_LEVEL_CONT":                           5,
	"GGML_LOG_LEVEL_DEBUG":                          1,
	"GGML_LOG_LEVEL_ERROR":                          4,
	"GGML_LOG_LEVEL_INFO":                           2,
	"GGML_LOG_LEVEL_WARN":                           3,
	"GGML_MAX_N_THREADS":                            512,
	"GGML_TYPE_BF16":                                30,
	"GGML_TYPE_F16":                                 1,
	"GGML_TYPE_F32":                                 0,
	"GGML_TYPE_IQ4_NL":                              20,
	"GGML_TYPE_Q4_0":                                2,
	"GGML_TYPE_Q4_1":                                3,
	"GGML_TYPE_Q5_0":                                6,
	"GGML_TYPE_Q5_1":                                7,
	"GGML_TYPE_Q8_0":                                8,
	"LLAMA_DEFAULT_SEED":                            4294967295,
	"LLAMA_FLASH_ATTN_TYPE_AUTO":                    -1,
	"LLAMA_FLASH_ATTN_TYPE_DISABLED":                0,
	"LLAMA_FLASH_ATTN_TYPE_ENABLED":                 1,
	"LLAMA_LOAD_MODE_MLOCK":                         2,
	"LLAMA_LOAD_MODE_MMAP":                          1,
	"LLAMA_LOAD_MODE_MMAP_MLOCK":                    3,
	"LLAMA_LOAD_MODE_NONE":                          0,
	"LLAMA_TOKEN_ATTR_BYTE":                         32,
	"LLAMA_TOKEN_ATTR_CONTROL":                      8,
	"LLAMA_TOKEN_ATTR_NORMAL":                       4,
	"LLAMA_TOKEN_ATTR_UNKNOWN":                      1,
	"LLAMA_TOKEN_ATTR_UNUSED":                       2,
	"LLAMA_TOKEN_ATTR_USER_DEFINED":                 16,
	"LLAMA_TOKEN_NULL":                              -1,
	"LLAMA_VOCAB_TYPE_NONE":                         0,
	"LLAMA_VOCAB_TYPE_WPM":                          3,
	"offsetof ggml_threadpool_params.n_threads":     512,
	"offsetof ggml_threadpool_params.poll":          520,
	"offsetof llama_batch.embd":                     16,
	"offsetof llama_batch.logits":                   48,
	"offsetof llama_batch.n_seq_id":                 32,
	"offsetof llama_batch.n_tokens":                 0,
	"offsetof llama_batch.pos":                      24,
	"offsetof llama_batch.seq_id":                   40,
	"offsetof llama_batch.token":                    8,
	"offsetof llama_context_params.abort_callback":  112,
	"offsetof llama_context_params.flash_attn_type": 52,
	"offsetof llama_context_params.kv_unified":      133,
	"offsetof llama_context_params.n_batch":         4,
	"offsetof llama_context_params.n_ctx":           0,
	"offsetof llama_context_params.n_outputs_max":   20,
	"offsetof llama_context_params.n_seq_max":       12,
	"offsetof llama_context_params.n_threads":       28,
	"offsetof llama_context_params.n_ubatch":        8,
	"offsetof llama_context_params.no_perf":         130,
	"offsetof llama_context_params.swa_full":        132,
	"offsetof llama_context_params.type_k":          104,
	"offsetof llama_model_params.check_tensors":     73,
	"offsetof llama_model_params.load_mode":         24,
	"offsetof llama_model_params.n_gpu_layers":      16,
	"offsetof llama_model_params.progress_callback": 48,
	"offsetof llama_model_params.vocab_only":        72,
	"offsetof llama_token_data.id":                  0,
	"offsetof llama_token_data.logit":               4,
	"offsetof llama_token_data.p":                   8,
	"offsetof llama_token_data_array.data":          0,
	"offsetof llama_token_data_array.selected":      16,
	"offsetof llama_token_data_array.size":          8,
	"offsetof llama_token_data_array.sorted":        24,
	"sizeof bool":                                   1,
	"sizeof ggml_threadpool_params":                 528,
	"sizeof llama_batch":                            56,
	"sizeof llama_context_params":                   160,
	"sizeof llama_logit_bias":                       8,
	"sizeof llama_model_params":                     80,
	"sizeof llama_pos":                              4,
	"sizeof llama_seq_id":                           4,
	"sizeof llama_token":                            4,
	"sizeof llama_token_data":                       12,
	"sizeof llama_token_data_array":                 32,
}

func TestLlamaLayout_AsRecorded(t *testing.T) {
	if diff := cmp.Diff(recorded, llamaLayout()); diff != "" {
		t.Errorf("llama.h is not what the shim was written for (-recorded +compiled):\n%s", diff)
	}
}
