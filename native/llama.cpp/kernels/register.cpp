// SPDX-License-Identifier: MIT
// The door: ggml-cpu asks its extra buffer types for each operation before it takes its own kernel. This one holds no memory
// and answers with Penstock's kernels, so llama.cpp's source stays as it is.
#include "kernels.h"

#include "operation.h"
#include "product.h"

#include "ggml-backend-impl.h"

#include <algorithm>
#include <atomic>

namespace {

std::atomic<bool> enabled{ false };

struct extension : ggml::cpu::extra_buffer_type {
    bool supports_op(ggml_backend_dev_t, const ggml_tensor *) override { return false; } // no tensor may live in it

    ggml::cpu::tensor_traits * get_tensor_traits(const ggml_tensor * op) override {
        switch (enabled ? op->op : GGML_OP_NONE) {
            case GGML_OP_FLASH_ATTN_EXT: return penstock::attention_for(op);
            case GGML_OP_MUL_MAT:        return product_for(op);
            default:                     return nullptr;
        }
    }

    static ggml::cpu::tensor_traits * product_for(const ggml_tensor * op) {
        switch (op->src[0]->type) {
            case GGML_TYPE_Q4_0: return penstock::q4_0_for(op);
            case GGML_TYPE_Q8_0: return penstock::q8_0_for(op);
            default:             return nullptr;
        }
    }
};

} // namespace

void penstock_kernels_set(bool on) {
    static extension context;
    static ggml_backend_buffer_type type = {
        { [](ggml_backend_buffer_type_t) { return "penstock"; },
          [](ggml_backend_buffer_type_t, size_t) -> ggml_backend_buffer_t { return nullptr; },
          [](ggml_backend_buffer_type_t) -> size_t { return 64; }, nullptr, nullptr, nullptr },
        nullptr, &context
    };
    auto & types = ggml_backend_cpu_get_extra_buffer_types();
    if (std::find(types.begin(), types.end(), &type) == types.end()) {
        types.insert(types.begin(), &type); // before the one that lays out 4-bit weights anew and has kernels for them
    }
    enabled = on;
}

bool penstock_kernels_multiply() {
#ifdef PENSTOCK_VNNI
    return enabled;
#else
    return false;
#endif
}
