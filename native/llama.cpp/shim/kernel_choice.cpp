// SPDX-License-Identifier: MIT
// Which families of kernels may compute on the CPU, and which ones compute a loaded model.
#include "kernel_choice.h"

#include "kernels/kernels.h"
#include "llama-model.h"
#include "productbench.h"
#include "shim.h"

#include <algorithm>
#include <mutex>
#include <vector>

static_assert(PS_KERNELS_OWN == int(PENSTOCK_OWN) && PS_KERNELS_AMX == int(PENSTOCK_AMX) && PS_KERNELS_REPACK == int(PENSTOCK_REPACK) &&
                  PS_KERNELS_PLAIN == int(PENSTOCK_PLAIN) && PS_ATTENTION == penstock_attention,
              "families and operations have the same numbers on both sides");

namespace {

std::shared_mutex choice_mutex;

// Whether the output layer has weights of its own. Then those of the embedding are no factor of a
// product; only rows of them are looked up. The output's may be a copy of the embedding's in
// another layout, under the same name.
bool has_output_weights(const std::vector<std::pair<std::string, ggml_tensor *>> & tensors) {
    int found = 0;
    for (const auto & [name, tensor] : tensors) {
        found += (name == "output.weight") + (name == "token_embd.weight");
    }
    return found > 1;
}

ps_weights describe(const ggml_tensor * t) {
    ps_weights w{};
    w.type             = t->type;
    w.bytes            = ggml_nbytes(t);
    w.family           = penstock_kernels_of(t);
    auto * const buffer = t->buffer;
    if (w.family == PS_KERNELS_PLAIN && buffer && !ggml_backend_buffer_is_host(buffer)) {
        w.family = PS_KERNELS_DEVICE;
        std::strncpy(w.device, ggml_backend_buffer_name(buffer), sizeof(w.device) - 1);
    }
    return w;
}

// Whether weights are laid out as in the file, as those that are looked up always are.
bool is_plain(const ggml_tensor * t) { return t->buffer && ggml_backend_buffer_is_host(t->buffer); }

std::vector<ps_weights> weights_of(const ps_model * m) {
    const auto & tensors = llama_internal_get_tensor_map(m->model);
    const bool   output_apart = has_output_weights(tensors);
    std::vector<ps_weights> all;
    for (const auto & [name, tensor] : tensors) {
        const auto w = describe(tensor);
        if (ggml_n_dims(tensor) < 2 || (output_apart && name == "token_embd.weight" && is_plain(tensor))) {
            continue;
        }
        const auto same = std::find_if(all.begin(), all.end(), [&](const ps_weights & o) {
            return o.type == w.type && o.family == w.family && std::strcmp(o.device, w.device) == 0;
        });
        if (same == all.end()) {
            all.push_back(w);
        } else {
            same->bytes += w.bytes;
        }
    }
    std::stable_sort(all.begin(), all.end(), [](const ps_weights & a, const ps_weights & b) { return a.bytes > b.bytes; });
    return all;
}

}  // namespace

std::shared_lock<std::shared_mutex> ps::lock_kernel_choice() { return std::shared_lock(choice_mutex); }

uint64_t ps_kernels_known(int32_t family) noexcept { return penstock_kernels_known(static_cast<penstock_family>(family)); }

const char * ps_product_instructions() noexcept { return penstock_product_instructions(); }

const char * ps_operation_name(int32_t operation) noexcept {
    if (operation == PS_ATTENTION) {
        return "attention";
    }
    if (operation < 0 || operation >= GGML_TYPE_COUNT || ggml_blck_size(static_cast<ggml_type>(operation)) == 0) {
        return "";
    }
    return ggml_type_name(static_cast<ggml_type>(operation));
}

void ps_kernels_allow(const uint64_t operations[PS_KERNELS_CHOICES]) noexcept {
    uint64_t each[penstock_choices];
    std::copy_n(operations, penstock_choices, each);
    const std::unique_lock alone(choice_mutex);
    penstock_kernels_allow(each);
}

void ps_kernel_inject_fault(int32_t family, int32_t operation, int32_t kind) noexcept {
    const std::unique_lock alone(choice_mutex);
    penstock_kernel_inject_fault(static_cast<penstock_family>(family), operation, static_cast<penstock_fault>(kind));
}

int32_t ps_attention_computed_by() noexcept { return penstock_attention_computed_by(); }

int32_t ps_model_weights(const ps_model * m, ps_weights * out, size_t capacity, size_t * count, ps_error * err) noexcept {
    return ps::guarded(err, [&] {
        const auto all = weights_of(m);
        std::copy_n(all.begin(), std::min(capacity, all.size()), out);
        *count = all.size();
    });
}

// ggml's kernels compute groups of four tokens, and the rest one by one. Ours compute all one by
// one; those for AMX compute up to 16 in the time of two, so that adding some gains nothing.
// Devices have kernels for each number of a few tokens.
int32_t ps_model_tokens_at_once(const ps_model * m) noexcept {
    try {
        uint64_t grouped = 0, others = 0;
        for (const auto & w : weights_of(m)) {
            (w.family == PS_KERNELS_REPACK || w.family == PS_KERNELS_PLAIN ? grouped : others) += w.bytes;
        }
        return grouped > others ? 4 : 1;
    } catch (const std::bad_alloc &) {
        return 1;
    }
}
