// SPDX-License-Identifier: MIT
// Which types of weights Penstock computes products with.
#include "experts.h"
#include "operation.h"
#include "superblocks.h"

#ifdef PENSTOCK_PRODUCTS

namespace {

// Calls use with the format of a type; false if there is none.
template <typename F> bool with_format(ggml_type type, F use) {
    switch (type) {
        case GGML_TYPE_Q4_0:   use(penstock::q4_0{}); return true;
        case GGML_TYPE_Q4_1:   use(penstock::q4_1{}); return true;
        case GGML_TYPE_Q5_0:   use(penstock::q5_0{}); return true;
        case GGML_TYPE_Q5_1:   use(penstock::q5_1{}); return true;
        case GGML_TYPE_Q8_0:   use(penstock::q8_0{}); return true;
        case GGML_TYPE_IQ4_NL: use(penstock::iq4_nl{}); return true;
        case GGML_TYPE_MXFP4:  use(penstock::mxfp4{}); return true;
        case GGML_TYPE_Q4_K:   use(penstock::q4_k{}); return true;
        case GGML_TYPE_Q5_K:   use(penstock::q5_k{}); return true;
        case GGML_TYPE_Q6_K:   use(penstock::q6_k{}); return true;
        case GGML_TYPE_IQ4_XS: use(penstock::iq4_xs{}); return true;
        default:               return false;
    }
}

} // namespace

ggml::cpu::tensor_traits * penstock::product_for(const ggml_tensor * op) {
    ggml::cpu::tensor_traits * found = nullptr;
    const bool experts = op->op == GGML_OP_MUL_MAT_ID;
    if (experts ? experts_product(op).has_kernel() : op->op == GGML_OP_MUL_MAT && product(op).has_kernel()) {
        with_format(op->src[0]->type, [&](auto format) {
            static product_kernel<decltype(format)> of_matrix;
            static experts_kernel<decltype(format)> of_experts;
            found = experts ? static_cast<ggml::cpu::tensor_traits *>(&of_experts) : &of_matrix;
        });
    }
    return found;
}

bool penstock::has_product(const ggml_tensor * weights) {
    return weights->ne[1] >= lanes && with_format(weights->type, [](auto) {});
}

uint64_t penstock::product_types() {
    uint64_t all = 0;
    for (int type = 0; type < GGML_TYPE_COUNT; type++) {
        all |= uint64_t(with_format(static_cast<ggml_type>(type), [](auto) {})) << type;
    }
    return all;
}

const char * penstock::product_instructions() { return PENSTOCK_PRODUCTS; }

#else

ggml::cpu::tensor_traits * penstock::product_for(const ggml_tensor *) { return nullptr; }
bool penstock::has_product(const ggml_tensor *) { return false; }
uint64_t penstock::product_types() { return 0; }
const char * penstock::product_instructions() { return ""; }

#endif
