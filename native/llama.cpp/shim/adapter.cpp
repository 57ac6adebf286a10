// SPDX-License-Identifier: MIT
// What changes a model beside its weights: LoRA adapters and control vectors.
#include "context.h"

#include "kernel_choice.h"

struct ps_adapter {
    ps_model *           model;
    llama_adapter_lora * adapter;
    ps::counted          count{ ps::live_adapters };

    ~ps_adapter() {
        const std::unique_lock<std::shared_mutex> changing(model->adapters);
        llama_adapter_lora_free(adapter);
    }
};

int32_t ps_adapter_load(ps_model * model, const char * path, ps_adapter ** out, ps_error * err) noexcept {
    return ps::guarded(err, [&] {
        const auto      kernels = ps::lock_kernel_choice(); // weights are laid out by it
        ps::log_capture capture;
        llama_adapter_lora * adapter = nullptr;
        {
            const std::unique_lock<std::shared_mutex> changing(model->adapters);
            adapter = llama_adapter_lora_init(model->model, path);
        }
        if (!adapter) {
            const auto reason = capture.reason("llama.cpp gave no reason");
            throw ps::fault(reason.find("allocate") != std::string::npos ? PS_NO_MEMORY : PS_FAILED, reason);
        }
        *out = new ps_adapter{ model, adapter };
    });
}

void ps_adapter_free(ps_adapter * adapter) noexcept { delete adapter; }

int32_t ps_context_set_adapters(ps_context * c, const ps_adapter * const * adapters, const float * scales, size_t n,
                                ps_error * err) noexcept {
    return ps::guarded(err, [&] {
        std::vector<llama_adapter_lora *> all(n);
        for (size_t i = 0; i < n; i++) {
            if (adapters[i]->model != c->model) {
                throw ps::fault(PS_INVALID, "the adapter was loaded for another model");
            }
            all[i] = adapters[i]->adapter;
        }
        llama_set_adapters_lora(c->context, all.data(), n, const_cast<float *>(scales));
        c->plans_anew = true;
    });
}

int32_t ps_context_set_control_vector(ps_context * c, const float * values, size_t n, int32_t first, int32_t last,
                                      ps_error * err) noexcept {
    return ps::guarded(err, [&] {
        ps::log_capture capture;
        if (llama_set_adapter_cvec(c->context, n > 0 ? values : nullptr, n, llama_model_n_embd(c->model->model), first, last) != 0) {
            throw ps::fault(PS_FAILED, capture.reason("llama.cpp refused the control vector"));
        }
        c->plans_anew = true;
    });
}
