// SPDX-License-Identifier: MIT
// Checks kernels before they are used: each computes a small operation, and the result is compared with the same in plain steps. This
// file is compiled for any CPU, so that it cannot share a fault with what it checks.
#include "kernels/kernels.h"
#include "shim.h"

#include "ggml-alloc.h"
#include "ggml-backend.h"
#include "ggml-cpu.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <vector>

namespace {

using context_ptr = std::unique_ptr<ggml_context, decltype(&ggml_free)>;
using buffer_ptr  = std::unique_ptr<ggml_backend_buffer, decltype(&ggml_backend_buffer_free)>;
using backend_ptr = std::unique_ptr<ggml_backend, decltype(&ggml_backend_free)>;

context_ptr new_context() { return context_ptr(ggml_init({ 16 * ggml_tensor_overhead() + ggml_graph_overhead(), nullptr, true }), ggml_free); }

buffer_ptr allocate(ggml_context * context, ggml_backend_buffer_type_t type) {
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

void fill(ggml_tensor * t, const std::vector<float> & from) { ggml_backend_tensor_set(t, from.data(), 0, from.size() * sizeof(float)); }

std::vector<float> compute(ggml_context * context, ggml_tensor * out) {
    auto * graph = ggml_new_graph(context);
    ggml_build_forward_expand(graph, out);
    const backend_ptr backend(ggml_backend_cpu_init(), ggml_backend_free);
    ggml_backend_cpu_set_n_threads(backend.get(), 2);
    if (ggml_backend_graph_compute(backend.get(), graph) != GGML_STATUS_SUCCESS) {
        throw ps::fault(PS_FAILED, "ggml could not compute it");
    }
    std::vector<float> result(static_cast<size_t>(ggml_nelements(out)));
    ggml_backend_tensor_get(out, result.data(), 0, ggml_nbytes(out));
    return result;
}

// No number may be off by more than the tolerance, as a share of the root mean square of all.
void compare(const std::vector<float> & got, const std::vector<float> & want, float tolerance, int64_t rows) {
    double squares = 0, worst = 0;
    bool   finite = true;
    for (size_t i = 0; i < want.size(); i++) {
        squares += double(want[i]) * want[i];
        worst   = std::max(worst, std::fabs(double(got[i]) - want[i]));
        finite  = finite && std::isfinite(got[i]);
    }
    const double off = worst / std::sqrt(squares / double(want.size()));
    if (!finite || !(off <= tolerance)) {
        char text[128];
        std::snprintf(text, sizeof(text), "with %d rows a result is off by %.2g of their size; %.2g would be rounding", int(rows),
                      finite ? off : INFINITY, double(tolerance));
        throw ps::fault(PS_FAILED, text);
    }
}

constexpr int64_t row_counts[] = { 1, 4, 16, 64 };

// A matrix of random weights, quantised as in a model's file, and as the numbers it stands for.
struct matrix {
    static constexpr int64_t width = 512, results = 160;

    std::vector<uint8_t> bytes;
    std::vector<float>   values;

    explicit matrix(ggml_type type) : bytes(results * ggml_row_size(type, width)), values(results * width) {
        const auto random = random_numbers().many(results * width);
        const std::vector<float> importance(width, 1.0f);
        ggml_quantize_chunk(type, random.data(), bytes.data(), 0, results, width, importance.data());
        if (type == GGML_TYPE_F32) {
            values = random;
        } else {
            ggml_get_type_traits(type)->to_float(bytes.data(), values.data(), results * width);
        }
    }
};

void check_product(penstock_family family, ggml_type type) {
    if (type != GGML_TYPE_F32 && !ggml_get_type_traits(type)->to_float) {
        throw ps::fault(PS_INVALID, "no weights have this type");
    }
    const matrix m(type);
    const auto   holder  = new_context();
    auto * const weights = ggml_new_tensor_2d(holder.get(), type, matrix::width, matrix::results);
    auto * const layout  = penstock_kernels_layout(family);
    const auto   memory  = allocate(holder.get(), layout ? layout : ggml_backend_cpu_buffer_type());
    ggml_backend_tensor_set(weights, m.bytes.data(), 0, m.bytes.size());
    if (penstock_kernels_of(weights) != family) {
        throw ps::fault(PS_INVALID, "these kernels do not compute it");
    }
    for (const int64_t rows : row_counts) {
        const auto   context = new_context();
        auto * const inputs  = ggml_new_tensor_2d(context.get(), GGML_TYPE_F32, matrix::width, rows);
        auto * const out     = ggml_mul_mat(context.get(), weights, inputs);
        const auto   buffer  = allocate(context.get(), ggml_backend_cpu_buffer_type());
        const auto   x       = random_numbers{ 7 }.many(matrix::width * rows);
        fill(inputs, x);
        const auto got = compute(context.get(), out);
        std::vector<float> want(static_cast<size_t>(rows * matrix::results));
        for (int64_t i = 0; i < rows * matrix::results; i++) {
            const float *a = &m.values[i % matrix::results * matrix::width], *b = &x[i / matrix::results * matrix::width];
            for (int64_t k = 0; k < matrix::width; k++) {
                want[i] += a[k] * b[k];
            }
        }
        compare(got, want, 0.05f, rows); // inputs have eight bits, or a few more
    }
}

// One layer's attention. A row sees the cells up to its own, except some that belong to other sequences.
struct attention_case {
    static constexpr int64_t head_dim = 64, cells = 192, n_heads = 4, n_kv_heads = 2;
    static constexpr float   scale = 0.125f;

    int64_t                  rows;
    std::vector<float>       q;
    std::vector<ggml_fp16_t> k, v, mask;

    explicit attention_case(int64_t n) : rows(n), q(random_numbers().many(head_dim * n * n_heads)), mask(cells * n) {
        random_numbers more{ 11 };
        for (auto * to : { &k, &v }) {
            const auto values = more.many(head_dim * cells * n_kv_heads);
            to->resize(values.size());
            ggml_fp32_to_fp16_row(values.data(), to->data(), static_cast<int64_t>(values.size()));
        }
        for (int64_t i = 0; i < cells * n; i++) {
            mask[i] = ggml_fp32_to_fp16(sees(i / cells, i % cells) ? 0.0f : -INFINITY);
        }
    }

    bool sees(int64_t row, int64_t cell) const { return cell <= cells - rows + row && cell % 7 != 3; }

    std::vector<float> computed_plainly() const {
        std::vector<float> out(head_dim * n_heads * rows);
        for (int64_t i = 0; i < n_heads * rows; i++) {
            const int64_t head = i % n_heads, row = i / n_heads, kv_head = head / (n_heads / n_kv_heads);
            float total = 0;
            for (int64_t c = 0; c < cells; c++) {
                if (!sees(row, c)) {
                    continue;
                }
                float score = 0;
                for (int64_t d = 0; d < head_dim; d++) {
                    score += q[(head * rows + row) * head_dim + d] * ggml_fp16_to_fp32(k[(kv_head * cells + c) * head_dim + d]);
                }
                const float weight = std::exp(score * scale);
                total += weight;
                for (int64_t d = 0; d < head_dim; d++) {
                    out[i * head_dim + d] += weight * ggml_fp16_to_fp32(v[(kv_head * cells + c) * head_dim + d]);
                }
            }
            for (int64_t d = 0; d < head_dim; d++) {
                out[i * head_dim + d] /= total;
            }
        }
        return out;
    }

    std::vector<float> computed() const {
        const auto   context = new_context();
        auto * const qs      = ggml_new_tensor_3d(context.get(), GGML_TYPE_F32, head_dim, rows, n_heads);
        auto * const ks      = ggml_new_tensor_3d(context.get(), GGML_TYPE_F16, head_dim, cells, n_kv_heads);
        auto * const vs      = ggml_new_tensor_3d(context.get(), GGML_TYPE_F16, head_dim, cells, n_kv_heads);
        auto * const ms      = ggml_new_tensor_2d(context.get(), GGML_TYPE_F16, cells, rows);
        auto * const out     = ggml_flash_attn_ext(context.get(), qs, ks, vs, ms, scale, 0, 0);
        const auto   buffer  = allocate(context.get(), ggml_backend_cpu_buffer_type());
        fill(qs, q);
        ggml_backend_tensor_set(ks, k.data(), 0, ggml_nbytes(ks));
        ggml_backend_tensor_set(vs, v.data(), 0, ggml_nbytes(vs));
        ggml_backend_tensor_set(ms, mask.data(), 0, ggml_nbytes(ms));
        return compute(context.get(), out);
    }
};

void check_attention(penstock_family family) {
    for (const int64_t rows : row_counts) {
        const attention_case a(rows);
        compare(a.computed(), a.computed_plainly(), family == PENSTOCK_OWN ? 0.002f : 0.05f, rows); // ggml's keeps sums in 16 bits
    }
}

}  // namespace

int32_t ps_kernel_check(int32_t family, int32_t operation, ps_error * err) noexcept {
    return ps::guarded(err, [&] {
        if (family < 0 || family > PS_KERNELS_PLAIN || *ps_operation_name(operation) == 0) {
            throw ps::fault(PS_INVALID, "there is no such kernel");
        }
        uint64_t only[PS_KERNELS_CHOICES] = {};
        if (family < PS_KERNELS_CHOICES) {
            only[family] = uint64_t(1) << operation;
        }
        ps_kernels_allow(only);
        if (operation == PS_ATTENTION) {
            check_attention(static_cast<penstock_family>(family));
        } else {
            check_product(static_cast<penstock_family>(family), static_cast<ggml_type>(operation));
        }
    });
}
