// SPDX-License-Identifier: MIT
// Computes operations that can pause in parts, between which they do. An operation's results are
// the same to the bit: parts are whole rows and columns of what is computed, and large enough that
// the same kernel computes them.
#ifndef PENSTOCK_PAUSING_H
#define PENSTOCK_PAUSING_H

#include "operation.h"
#include "ops.h"
#include "pause.h"
#include "simd-mappings.h"

#include <algorithm>
#include <cstring>

namespace penstock {

constexpr double part_work = 1e7; // multiplications and additions of a part for each thread: about a millisecond

// The length of parts of n, at most about most, that are multiples of a unit but for the last one.
inline int64_t part_of(int64_t n, int64_t most, int64_t unit) {
    if (n <= most) {
        return n;
    }
    const int64_t parts = (n + most - 1) / most;
    return std::min(n, GGML_PAD((n + parts - 1) / parts, unit));
}

// Calls work with the begin and the length of each part of n. What is left for the last one, if
// less than the unit, belongs to the one before.
template <typename F> void each_part(int64_t n, int64_t length, int64_t unit, F work) {
    for (int64_t at = 0, size; at < n; at += size) {
        size = n - at < length + unit ? n - at : length;
        work(at, size);
    }
}

// The rows at..at+n of a tensor.
inline ggml_tensor rows_of(const ggml_tensor * t, int64_t at, int64_t n) {
    ggml_tensor part = *t;
    part.data        = static_cast<char *>(t->data) + at * t->nb[1];
    part.ne[1]       = n;
    return part;
}

// Leaves one matrix of a tensor.
inline void take_one(ggml_tensor & t, int64_t i) {
    t.data  = static_cast<char *>(t.data) + i * t.nb[2];
    t.ne[2] = 1;
}

// A product of matrices in parts of both. ggml's kernels need multiples of 16 rows of weights, and
// more than one of the others, which they convert: few of those and many weights, for all of them
// before the next weights, so that these stay in the cache.
template <typename F> void each_product(const ggml_tensor * op, int threads, bool whole_weights, F work) {
    constexpr int64_t unit = 16, most_rows = 32;
    const ggml_tensor *weights = op->src[0], *rows = op->src[1];
    const double       dot = 2.0 * weights->ne[0], budget = part_work * threads;
    const bool         fixed = whole_weights || weights->ne[1] % unit != 0;
    const int64_t      n     = fixed ? std::max<int64_t>(unit, budget / (dot * weights->ne[1])) : most_rows;
    const int64_t      n_rows = part_of(rows->ne[1], n, unit);
    const int64_t      n_weights =
        fixed ? weights->ne[1] : part_of(weights->ne[1], std::max<int64_t>(unit * threads, budget / (dot * n_rows)), unit * threads);
    for (int64_t i = 0; i < op->ne[2]; i++) { // matrices, of which several may have the same weights
        each_part(weights->ne[1], n_weights, unit, [&](int64_t w, int64_t w_size) {
            each_part(rows->ne[1], n_rows, unit, [&](int64_t r, int64_t r_size) {
                ggml_tensor some_weights = rows_of(weights, w, w_size), some_rows = rows_of(rows, r, r_size), part = rows_of(op, r, r_size);
                take_one(some_weights, i / (op->ne[2] / weights->ne[2]));
                take_one(some_rows, i);
                take_one(part, i);
                part.data   = static_cast<char *>(part.data) + w * part.nb[0];
                part.ne[0]  = w_size;
                part.src[0] = &some_weights;
                part.src[1] = &some_rows;
                work(&part);
            });
        });
    }
}

// Whether ggml's attention takes 64 queries at a time. Otherwise it goes row by row, at a small
// part of the speed.
inline bool is_tiled(const ggml_tensor * op) {
#if defined(GGML_SIMD) && !defined(__ARM_FEATURE_SVE)
    return op->src[2]->ne[0] % GGML_F32_EPR == 0;
#else
    return true;
#endif
}

// Attention in parts of its queries, and for ggml's kernel of its heads where each has keys of its
// own. Tiles are given to each thread several at a time.
template <typename F> void each_attention(const ggml_tensor * op, int threads, bool whole_heads, F work) {
    constexpr double   slowly = 16; // times as long, row by row
    const ggml_tensor *q = op->src[0], *k = op->src[1], *mask = op->src[3];
    float              bias;
    std::memcpy(&bias, reinterpret_cast<const float *>(op->op_params) + 1, sizeof(bias)); // whose slope depends on the head
    const bool    by_head = !whole_heads && k->ne[2] == q->ne[2] && op->src[2]->ne[2] == q->ne[2] && bias == 0 && !op->src[4] && (!mask || mask->ne[2] == 1);
    const bool    tiled   = whole_heads || is_tiled(op);
    const int64_t heads   = by_head ? 1 : q->ne[2], tile = tiled ? 64 : 16;
    const double  row     = 2.0 * (k->ne[0] + op->src[2]->ne[0]) * k->ne[1] * heads * (tiled ? 1 : slowly);
    const int64_t n       = std::max<int64_t>(part_work * threads / row, tiled ? 2 * tile * threads / heads : tile);
    const int64_t n_rows  = part_of(q->ne[1], GGML_PAD(n, tile), tile);
    for (int64_t head = 0; head < q->ne[2]; head += heads) {
        each_part(q->ne[1], n_rows, tile, [&](int64_t at, int64_t size) {
            ggml_tensor some = rows_of(q, at, size), keys = *k, values = *op->src[2], part = *op, seen;
            if (by_head) {
                take_one(some, head);
                take_one(keys, head);
                take_one(values, head);
            }
            part.data   = static_cast<char *>(op->data) + head * op->nb[1] + at * op->nb[2];
            part.ne[2]  = size;
            part.src[0] = &some;
            part.src[1] = &keys;
            part.src[2] = &values;
            if (mask) {
                seen        = rows_of(mask, at, std::min(size, mask->ne[1] - at));
                part.src[3] = &seen;
            }
            work(&part);
        });
    }
}

// What computes operations that can pause. Those of which a part takes long are computed in parts,
// all others at once.
struct pausing_kernel : ggml::cpu::tensor_traits {
    ggml::cpu::tensor_traits * (*kernel)(const ggml_tensor * op); // that computes an operation; null: ggml's own does

    explicit pausing_kernel(ggml::cpu::tensor_traits * (*kernel)(const ggml_tensor *)) : kernel(kernel) {}

    bool divides(const ggml_tensor * op) const {
        switch (op->op) {
            case GGML_OP_MUL_MAT:
                return op->ne[3] == 1 && (op->ne[2] == 1 || !kernel(op)) && ggml_get_op_params_i32(op, 1) == 0 && is_plain(op->src[0]);
            case GGML_OP_FLASH_ATTN_EXT: return op->src[0]->ne[3] == 1 && op->src[1]->ne[3] == 1;
            default: return false;
        }
    }

    // Weights in the layout of another kernel are that kernel's.
    static bool is_plain(const ggml_tensor * weights) {
        return !weights->buffer || weights->buffer->buft == ggml_backend_cpu_buffer_type() || ggml_backend_buffer_is_host(weights->buffer);
    }

    template <typename F> void each(const ggml_tensor * op, int threads, F work) {
        if (op->op == GGML_OP_MUL_MAT) {
            each_product(op, threads, kernel(op) != nullptr, work);
        } else {
            each_attention(op, threads, kernel(op) != nullptr, work);
        }
    }

    bool work_size(int threads, const ggml_tensor * op, size_t & size) override {
        auto * inner = kernel(op);
        if (!inner || !inner->work_size(threads, op, size)) {
            return false;
        }
        if (divides(op)) {
            each(op, threads, [&](const ggml_tensor * part) {
                size_t of_part = 0;
                inner->work_size(threads, part, of_part);
                size = std::max(size, of_part);
            });
        }
        return true;
    }

    bool compute_forward(ggml_compute_params * params, ggml_tensor * op) override {
        auto * pause = penstock_pause_of(op);
        auto * inner = kernel(op);
        if (params->use_ref || !divides(op)) {
            pause->rest(params);
            return inner && inner->compute_forward(params, op);
        }
        each(op, params->nth, [&](ggml_tensor * part) {
            pause->rest(params);
            if (inner) {
                inner->compute_forward(params, part);
            } else if (op->op == GGML_OP_MUL_MAT) {
                ggml_compute_forward_mul_mat(params, part);
            } else {
                ggml_compute_forward_flash_attn_ext(params, part);
            }
        });
        return true;
    }
};

} // namespace penstock

#endif
