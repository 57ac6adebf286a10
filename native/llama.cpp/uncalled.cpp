// SPDX-License-Identifier: MIT
// What llama.cpp's common.cpp calls to load models for command line tools. The shim wants its
// functions for texts only and calls none of those, so this stands for the files that have it (see
// common.cmake). Should one be called after all, the program ends and says which.
#include "build-info.h"
#include "fit.h"
#include "ggml.h"
#include "sampling.h"
#include "speculative.h"

#define UNCALLED GGML_ABORT("%s is not part of this program", __func__)

common_params_fit_status common_fit_params(const char *, llama_model_params *, llama_context_params *, float *,
                                           llama_model_tensor_buft_override *, size_t *, uint32_t, const common_fit_extra_model *,
                                           ggml_log_level) {
    UNCALLED;
}

common_sampler * common_sampler_init(const llama_model *, common_params_sampling &) { UNCALLED; }
void             common_sampler_free(common_sampler *) { UNCALLED; }
llama_sampler *  common_sampler_get(const common_sampler *) { UNCALLED; }
std::vector<enum common_sampler_type> common_sampler_types_from_names(const std::vector<std::string> &) { UNCALLED; }

common_params common_base_params_to_speculative(const common_params &) { UNCALLED; }

int          llama_build_number() { UNCALLED; }
const char * llama_commit() { UNCALLED; }
const char * llama_compiler() { UNCALLED; }
const char * llama_build_target() { UNCALLED; }
