// SPDX-License-Identifier: MIT
// Which types of weights Penstock computes products with.
#include "experts.h"
#include "lookup.h"
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
    if (is_laid_out(op->src[0]) && op->src[0]->view_src) {
        return nullptr; // the rows of a view may begin in the middle of a group
    }
    if (experts ? experts_product(op).has_kernel() : op->op == GGML_OP_MUL_MAT && product(op).has_kernel()) {
        with_format(op->src[0]->type, [&](auto format) {
            static product_kernel<decltype(format)> of_matrix;
            static experts_kernel<decltype(format)> of_experts;
            found = experts ? static_cast<ggml::cpu::tensor_traits *>(&of_experts) : &of_matrix;
        });
    }
    return found;
}

ggml::cpu::tensor_traits * penstock::lookup_for(const ggml_tensor * op) {
    ggml::cpu::tensor_traits * found = nullptr;
    if (is_lookup(op)) {
        with_format(op->src[0]->type, [&](auto format) {
            static lookup_kernel<decltype(format)> kernel;
            found = &kernel;
        });
    }
    return found;
}

uint64_t penstock::product_types() {
    uint64_t all = 0;
    for (int type = 0; type < GGML_TYPE_COUNT; type++) {
        all |= uint64_t(with_format(static_cast<ggml_type>(type), [](auto) {})) << type;
    }
    return all;
}

const char * penstock::product_instructions() { return PENSTOCK_PRODUCTS; }

namespace {

// The groups of one matrix; the last may be of fewer rows.
int64_t groups_each(const ggml_tensor * weights) { return (weights->ne[1] + penstock::lanes - 1) / penstock::lanes; }

} // namespace

int64_t penstock::groups(const ggml_tensor * weights) { return groups_each(weights) * weights->ne[2] * weights->ne[3]; }

void penstock::lay_out_group(const ggml_tensor * weights, const char * from, int64_t group) {
    const int64_t first = group % groups_each(weights) * lanes, rows = std::min<int64_t>(lanes, weights->ne[1] - first);
    const int64_t stride = static_cast<int64_t>(weights->nb[1]), at = (group / groups_each(weights) * weights->ne[1] + first) * stride;
    char * const to = static_cast<char *>(weights->data) + at;
    const bool known = rows == lanes && with_format(weights->type, [&](auto format) {
        using Format = decltype(format);
        const char * in[lanes];
        for (int r = 0; r < lanes; r++) {
            in[r] = from + at + r * stride;
        }
        for (int64_t i = 0; i < stride; i += Format::size) {
            lay_out<Format>(in, i, to + i * lanes);
        }
    });
    if (!known) {
        memcpy(to, from + at, static_cast<size_t>(rows * stride));
    }
}

size_t penstock::place(const ggml_tensor * weights, size_t byte) {
    const size_t stride = weights->nb[1], row = byte / stride % weights->ne[1], lane = row % lanes;
    size_t found = byte;
    if (row - lane + lanes <= static_cast<size_t>(weights->ne[1])) {
        with_format(weights->type, [&](auto format) {
            using Format = decltype(format);
            const size_t in_block = byte % stride % Format::size;
            size_t begin = byte / stride * stride - lane * stride + (byte % stride - in_block) * lanes; // of the piece, laid out
            for (const piece & p : Format::pieces) {
                const size_t in_piece = in_block - p.begin, in_element = in_piece % p.element; // both are too large if it is another's
                if (in_piece < static_cast<size_t>(p.size)) {
                    found = begin + (in_piece - in_element) * lanes + lane * p.element + in_element;
                }
                begin += p.size * lanes;
            }
        });
    }
    return found;
}

#else

ggml::cpu::tensor_traits * penstock::product_for(const ggml_tensor *) { return nullptr; }
ggml::cpu::tensor_traits * penstock::lookup_for(const ggml_tensor *) { return nullptr; }
uint64_t penstock::product_types() { return 0; }
const char * penstock::product_instructions() { return ""; }
int64_t penstock::groups(const ggml_tensor *) { return 0; } // no weights are laid out
void penstock::lay_out_group(const ggml_tensor *, const char *, int64_t) {}
size_t penstock::place(const ggml_tensor *, size_t byte) { return byte; }

#endif
