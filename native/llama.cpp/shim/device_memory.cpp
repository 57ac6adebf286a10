// SPDX-License-Identifier: MIT
// What a context and its model take of each device's memory, as llama.cpp counts it.
#include "context.h"

#include "ggml-backend.h"
#include "llama-ext.h"
#include "llama-model.h"

#include <algorithm>

namespace {

ggml_backend_dev_t cpu() { return ggml_backend_dev_by_type(GGML_BACKEND_DEVICE_TYPE_CPU); }

// Main memory is the CPU's, and so is what a GPU's driver gives of it. Weights in an order of the
// CPU's kernels lie there too, though llama.cpp does not call their buffers the host's.
ggml_backend_dev_t device_of(ggml_backend_buffer_type_t type) {
    auto * device = ggml_backend_buft_is_host(type) ? nullptr : ggml_backend_buft_get_device(type);
    return device ? device : cpu();
}

ps_device_memory empty(ggml_backend_dev_t device) {
    ps_device_memory out{};
    std::strncpy(out.name, ggml_backend_dev_name(device), sizeof(out.name) - 1);
    out.kind = static_cast<int32_t>(ggml_backend_dev_type(device));
    ggml_backend_dev_memory(device, &out.free, &out.total);
    return out;
}

// llama.cpp leaves its buffer of output rows out of the account.
size_t output_bytes(const ps_context * c) {
    const auto rows    = static_cast<size_t>(std::max(c->limits.rows, c->limits.sequences));
    size_t     numbers = static_cast<size_t>(c->model->n_vocab);
    if (c->output != PS_LOGITS) {
        numbers += static_cast<size_t>(llama_model_n_embd_out(c->model->model));
    }
    return (rows * numbers + ps::kept_states(c) * static_cast<size_t>(llama_model_n_embd_out(c->model->model))) * sizeof(float);
}

std::vector<ps_device_memory> memory_of(const ps_context * c) {
    std::vector<ggml_backend_dev_t> devices{ cpu() };
    std::vector<ps_device_memory>   out{ empty(cpu()) };
    for (const auto & [type, bytes] : llama_get_memory_breakdown(c->context)) {
        auto * device = device_of(type);
        auto   at     = std::find(devices.begin(), devices.end(), device);
        if (at == devices.end()) {
            out.push_back(empty(device));
            at = devices.insert(at, device);
        }
        auto & sum = out[static_cast<size_t>(at - devices.begin())];
        (ggml_backend_buft_is_host(type) ? sum.plain_weights : sum.weights) += bytes.model;
        sum.cells += bytes.context;
        sum.compute += bytes.compute;
    }
    out[0].compute += output_bytes(c);
    return out;
}

}  // namespace

int32_t ps_context_memory(const ps_context * c, ps_device_memory * out, size_t capacity, size_t * count, ps_error * err) noexcept {
    return ps::guarded(err, [&] {
        const auto all = memory_of(c);
        *count         = all.size();
        std::copy_n(all.begin(), std::min(capacity, all.size()), out);
    });
}
