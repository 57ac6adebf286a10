// SPDX-License-Identifier: MIT
// What trials of single operations have in common: memory, numbers, and computing one on the CPU.
#ifndef PENSTOCK_OPERATION_TRIAL_H
#define PENSTOCK_OPERATION_TRIAL_H

#include "guarded_copies.h"
#include "shim.h"

#include "ggml-alloc.h"
#include "ggml-backend.h"
#include "ggml-cpu.h"

#include <algorithm>
#include <cstring>
#include <functional>
#include <memory>
#include <new>
#include <vector>

namespace ps::trial {

using context_ptr = std::unique_ptr<ggml_context, decltype(&ggml_free)>;
using buffer_ptr  = std::unique_ptr<ggml_backend_buffer, decltype(&ggml_backend_buffer_free)>;
using backend_ptr = std::unique_ptr<ggml_backend, decltype(&ggml_backend_free)>;

inline context_ptr new_context() { return context_ptr(ggml_init({ 16 * ggml_tensor_overhead() + ggml_graph_overhead(), nullptr, true }), ggml_free); }

inline buffer_ptr allocate(ggml_context * context, ggml_backend_buffer_type_t type) {
    buffer_ptr buffer(ggml_backend_alloc_ctx_tensors_from_buft(context, type), ggml_backend_buffer_free);
    if (!buffer) {
        throw std::bad_alloc();
    }
    return buffer;
}

// Random numbers between -1 and 1, the same each time.
struct random_numbers {
    uint32_t state = 1;

    float operator()() {
        state = state * 1664525 + 1013904223;
        return static_cast<float>(state >> 8) / (1 << 23) - 1;
    }

    std::vector<float> many(int64_t n) {
        std::vector<float> all(static_cast<size_t>(n));
        std::generate(all.begin(), all.end(), std::ref(*this));
        return all;
    }
};

// Writes rows of bytes, which may lie apart in a tensor of up to three dimensions. Between them
// come bytes that are NaN as numbers of any type, and -1 as whole ones.
inline void put_rows(ggml_tensor * t, const void * rows) {
    const size_t row = ggml_row_size(t->type, t->ne[0]);
    if (ggml_is_contiguous(t)) {
        ggml_backend_tensor_set(t, rows, 0, static_cast<size_t>(ggml_nrows(t)) * row); // the layout of weights is their buffer's matter
        return;
    }
    std::vector<uint8_t> spread(ggml_nbytes(t), 0xff);
    for (int64_t i = 0; i < ggml_nrows(t); i++) {
        memcpy(&spread[i % t->ne[1] * t->nb[1] + i / t->ne[1] * t->nb[2]], static_cast<const uint8_t *>(rows) + i * row, row);
    }
    ggml_backend_tensor_set(t, spread.data(), 0, spread.size());
}

// Writes numbers as a tensor's type, and reads them back as that type keeps them.
inline void put(ggml_tensor * t, std::vector<float> & numbers) {
    const auto           n = static_cast<int64_t>(numbers.size());
    std::vector<uint8_t> bytes(n / t->ne[0] * ggml_row_size(t->type, t->ne[0]));
    if (t->type == GGML_TYPE_F32) {
        memcpy(bytes.data(), numbers.data(), bytes.size());
    } else {
        const std::vector<float> importance(t->ne[0], 1.0f);
        ggml_quantize_chunk(t->type, numbers.data(), bytes.data(), 0, n / t->ne[0], t->ne[0], importance.data());
        ggml_get_type_traits(t->type)->to_float(bytes.data(), numbers.data(), n);
    }
    put_rows(t, bytes.data());
}

// Room for rows of numbers; for such that lie apart the beginnings of longer ones.
inline ggml_tensor * new_rows(ggml_context * context, ggml_type type, int64_t width, int64_t rows, int64_t more, int64_t apart) {
    ggml_tensor * all = ggml_new_tensor_3d(context, type, width + apart, rows, more);
    return apart ? ggml_view_3d(context, all, width, rows, more, all->nb[1], all->nb[2], 0) : all;
}

// The CPU, with threads of its own.
struct computer {
    backend_ptr       backend{ ggml_backend_cpu_init(), ggml_backend_free };
    ggml_threadpool * pool;

    explicit computer(int threads) {
        auto params = ggml_threadpool_params_default(std::max(1, threads));
        pool        = ggml_threadpool_new(&params);
        ggml_backend_cpu_set_n_threads(backend.get(), threads);
        ggml_backend_cpu_set_threadpool(backend.get(), pool);
    }

    computer(const computer &) = delete;
    computer & operator=(const computer &) = delete;

    ~computer() {
        backend.reset();
        ggml_threadpool_free(pool);
    }

    std::vector<float> compute(ggml_cgraph * graph, ggml_tensor * out, int32_t guard) const {
        const guarded_copies copies(out, guard);
        if (ggml_backend_graph_compute(backend.get(), graph) != GGML_STATUS_SUCCESS) {
            throw ps::fault(PS_FAILED, "ggml could not compute it");
        }
        std::vector<float> result(static_cast<size_t>(ggml_nelements(out)));
        ggml_backend_tensor_get(out, result.data(), 0, ggml_nbytes(out));
        return result;
    }
};

} // namespace ps::trial

#endif
