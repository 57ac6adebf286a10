// SPDX-License-Identifier: MIT
// How a model is to be loaded, in llama.cpp's own struct.
#pragma once

#include "shim.h"

#include <string>
#include <vector>

namespace ps {

// llama_model_params with what their pointers point to. They hold until it is gone; the constructor
// checks what llama.cpp would assert, or crash on later, and throws a fault that lists what there
// is instead.
struct model_params {
    llama_model_params params;
    bool               lock = false;  // weights in main memory are to stay there

    explicit model_params(const ps_model_params & p);
    model_params(const model_params &) = delete;

    // For a dry run, most of whose time a vocabulary would take: of a large one, seconds. What
    // llama.cpp is told instead is the number of tokens, for the sizes of tensors. A file that does
    // not say it is left as it is.
    void leave_out_vocabulary(const char * path);

    bool computes_on_cpu() const;  // alone

  private:
    std::vector<ggml_backend_dev_t>               devices;
    std::vector<llama_model_tensor_buft_override> tensors;
    std::vector<llama_model_kv_override>          metadata;
    std::vector<float>                            split;

    void choose_load_mode(const ps_model_params & p);
    void choose_devices(const ps_model_params & p);
    void override_tensors(const ps_model_params & p);
    void override_metadata(const ps_model_params & p);
    void split_tensors(const ps_model_params & p);
    bool computes(ggml_backend_dev_t device) const;
};

// Whether a model's embedding is its output layer, too. Of a model in several files it is not
// known, and so false.
bool has_tied_embedding(const char * path);

}  // namespace ps
