// SPDX-License-Identifier: MIT
// Measures how long products take, by whose kernels.
#include "productbench.h"

#include "kernels/kernels.h"
#include "shim.h"

#include "ggml-alloc.h"
#include "ggml-backend.h"
#include "ggml-cpu.h"

#include <chrono>
#include <random>
#include <vector>

namespace {

using context_ptr = std::unique_ptr<ggml_context, decltype(&ggml_free)>;
using buffer_ptr  = std::unique_ptr<ggml_backend_buffer, decltype(&ggml_backend_buffer_free)>;
using backend_ptr = std::unique_ptr<ggml_backend, decltype(&ggml_backend_free)>;
using threads_ptr = std::shared_ptr<ggml_threadpool>;

context_ptr new_context(int32_t tensors) {
    return context_ptr(ggml_init({ static_cast<size_t>(tensors) * ggml_tensor_overhead() + ggml_graph_overhead(), nullptr, true }), ggml_free);
}

buffer_ptr allocate(ggml_context * context, ggml_backend_buffer_type_t type) {
    buffer_ptr buffer(ggml_backend_alloc_ctx_tensors_from_buft(context, type), ggml_backend_buffer_free);
    if (!buffer) {
        throw std::bad_alloc();
    }
    return buffer;
}

std::vector<float> random_values(int64_t n) {
    std::mt19937 random(1);
    std::normal_distribution<float> normal;
    std::vector<float> all(static_cast<size_t>(n));
    for (float & x : all) {
        x = normal(random);
    }
    return all;
}

// Random weights as in a file: 32 rows again and again, since some types take long to quantise.
std::vector<uint8_t> random_weights(ggml_type type, int64_t width, int64_t results) {
    const int64_t different = std::min<int64_t>(results, 32);
    const size_t  row       = ggml_row_size(type, width);
    const auto    values    = random_values(width * different);
    const std::vector<float> importance(static_cast<size_t>(width), 1.0f);
    std::vector<uint8_t> bytes(static_cast<size_t>(results) * row);
    ggml_quantize_chunk(type, values.data(), bytes.data(), 0, different, width, importance.data());
    for (size_t i = static_cast<size_t>(different) * row; i < bytes.size(); i++) {
        bytes[i] = bytes[i - static_cast<size_t>(different) * row];
    }
    return bytes;
}

// The threads of all that take turns. Each with its own would wait for work on the cores that the
// next one computes with: ggml's threads spin for a tenth of a second, and those that sleep wake up
// where others run.
threads_ptr threads_of(int32_t n) {
    static std::weak_ptr<ggml_threadpool> last;
    static int32_t last_n;
    auto threads = last.lock();
    if (!threads || last_n != n) {
        auto parameters = ggml_threadpool_params_default(n);
        threads.reset(ggml_threadpool_new(&parameters), ggml_threadpool_free);
        last   = threads;
        last_n = n;
    }
    return threads;
}

}  // namespace

struct ps_product_bench {
    penstock_family            family;
    context_ptr                holder;
    std::vector<ggml_tensor *> weights;
    buffer_ptr                 memory;
    threads_ptr                threads;
    backend_ptr                backend;

    ps_product_bench(penstock_family f, ggml_type type, int64_t width, int64_t results, int32_t copies, int32_t n_threads)
        : family(f), holder(new_context(copies)), weights(static_cast<size_t>(copies)), memory(nullptr, ggml_backend_buffer_free),
          threads(threads_of(n_threads)), backend(ggml_backend_cpu_init(), ggml_backend_free) {
        allow();
        for (auto & w : weights) {
            w = ggml_new_tensor_2d(holder.get(), type, width, results);
        }
        auto * const layout = penstock_kernels_layout(family);
        memory = allocate(holder.get(), layout ? layout : ggml_backend_cpu_buffer_type());
        const auto bytes = random_weights(type, width, results);
        for (auto * w : weights) {
            ggml_backend_tensor_set(w, bytes.data(), 0, bytes.size());
        }
        if (penstock_kernels_of(weights[0]) != family) {
            throw ps::fault(PS_INVALID, "these kernels do not compute it");
        }
        ggml_backend_cpu_set_n_threads(backend.get(), n_threads);
        ggml_backend_cpu_set_threadpool(backend.get(), threads.get());
    }

    void allow() const {
        uint64_t only[PS_KERNELS_CHOICES] = {};
        if (family < penstock_choices) {
            only[family] = ~uint64_t(0);
        }
        ps_kernels_allow(only);
    }

    double run(int64_t rows, int32_t copies) const {
        allow();
        const auto   context = new_context(2 * copies + 1);
        auto * const inputs  = ggml_new_tensor_2d(context.get(), GGML_TYPE_F32, weights[0]->ne[0], rows);
        auto * const graph   = ggml_new_graph(context.get());
        for (int32_t i = 0; i < copies; i++) {
            ggml_build_forward_expand(graph, ggml_mul_mat(context.get(), weights[static_cast<size_t>(i)], inputs));
        }
        const auto buffer = allocate(context.get(), ggml_backend_cpu_buffer_type());
        const auto x      = random_values(ggml_nelements(inputs));
        ggml_backend_tensor_set(inputs, x.data(), 0, ggml_nbytes(inputs));
        const auto begin = std::chrono::steady_clock::now();
        if (ggml_backend_graph_compute(backend.get(), graph) != GGML_STATUS_SUCCESS) {
            throw ps::fault(PS_FAILED, "ggml could not compute it");
        }
        return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count() / copies;
    }
};

int32_t ps_product_bench_new(int32_t family, int32_t operation, int64_t width, int64_t results, int32_t copies, int32_t threads,
                             ps_product_bench ** out, ps_error * err) noexcept {
    return ps::guarded(err, [&] {
        *out = new ps_product_bench(static_cast<penstock_family>(family), static_cast<ggml_type>(operation), width, results, copies, threads);
    });
}

int32_t ps_product_bench_run(ps_product_bench * b, int64_t rows, int32_t copies, double * seconds_each, ps_error * err) noexcept {
    return ps::guarded(err, [&] { *seconds_each = b->run(rows, std::min(copies, static_cast<int32_t>(b->weights.size()))); });
}

void ps_product_bench_free(ps_product_bench * b) noexcept { delete b; }
