// SPDX-License-Identifier: MIT
// How a model is to be loaded, in llama.cpp's own struct.
#pragma once

#include "shim.h"

#include <string>
#include <vector>

namespace ps {

// llama_model_params with what their pointers point to. They hold until it is gone; the constructor checks what llama.cpp would assert, or
// crash on later, and throws a fault that lists what there is instead.
struct model_params {
    llama_model_params params;

    explicit model_params(const ps_model_params & p);
    model_params(const model_params &) = delete;

  private:
    std::vector<ggml_backend_dev_t>               devices;
    std::vector<llama_model_tensor_buft_override> tensors;
    std::vector<llama_model_kv_override>          metadata;
    std::vector<float>                            split;

    void choose_devices(const ps_model_params & p);
    void override_tensors(const ps_model_params & p);
    void override_metadata(const ps_model_params & p);
    void split_tensors(const ps_model_params & p);
    bool computes(ggml_backend_dev_t device) const;
};

}  // namespace ps
