// SPDX-License-Identifier: MIT
// Rows of weights as numbers, such as the embeddings of tokens, where the weights are laid out for
// products. So the weights of a model whose embedding is its output layer, too, are in memory once.
#ifndef PENSTOCK_LOOKUP_H
#define PENSTOCK_LOOKUP_H

#include "layout.h"

#ifdef PENSTOCK_PRODUCTS

namespace penstock {

// Copies a block of a row as it is in the file; from is that block of the row's group, laid out.
template <typename Format> void copy_block(const char * from, int64_t lane, char * to) {
    for (const piece & p : Format::pieces) {
        for (int64_t i = 0; i < p.size; i += p.element) {
            memcpy(to + p.begin + i, from + i * lanes + lane * p.element, static_cast<size_t>(p.element));
        }
        from += p.size * lanes;
    }
}

// A lookup's numbers are those that ggml's own gives, to the bit.
template <typename Format> struct lookup_kernel : ggml::cpu::tensor_traits {
    bool work_size(int, const ggml_tensor *, size_t & size) override {
        size = 0;
        return true;
    }

    bool compute_forward(ggml_compute_params * params, ggml_tensor * op) override {
        const ggml_tensor * const numbers = op->src[1];
        const weight_matrix       matrix(op->src[0], 0);
        for (int64_t i = params->ith; i < ggml_nelements(numbers); i += params->nth) {
            const int64_t row = static_cast<const int32_t *>(numbers->data)[i];
            GGML_ASSERT(row >= 0 && row < matrix.results);
            look_up(op->src[0], matrix, row, reinterpret_cast<float *>(static_cast<char *>(op->data) + i * op->nb[1]));
        }
        return true;
    }

  private:
    static void look_up(const ggml_tensor * weights, const weight_matrix & matrix, int64_t row, float * to) {
        const auto        to_float = ggml_get_type_traits(weights->type)->to_float;
        const int64_t     lane     = row % lanes, values = ggml_blck_size(weights->type);
        const weight_rows group(matrix, row - lane);
        if (!group.laid_out) {
            to_float(group.rows[lane], to, weights->ne[0]);
            return;
        }
        for (int64_t i = 0; i < weights->ne[0] / values; i++) {
            alignas(64) char block[Format::size];
            copy_block<Format>(group.data + i * lanes * Format::size, lane, block);
            to_float(block, to + i * values, values);
        }
    }
};

// Whether it is a lookup in one matrix, by a list of numbers.
inline bool is_lookup(const ggml_tensor * op) {
    const ggml_tensor * const weights = op->src[0], * const numbers = op->src[1];
    return op->op == GGML_OP_GET_ROWS && op->type == GGML_TYPE_F32 && numbers->type == GGML_TYPE_I32 && ggml_is_contiguous(numbers) &&
           ggml_is_vector(numbers) && weights->ne[2] == 1 && weights->ne[3] == 1 && !weights->view_src;
}

} // namespace penstock

#endif
#endif
