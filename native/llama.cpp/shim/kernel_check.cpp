// SPDX-License-Identifier: MIT
// Checks kernels before they are used: each computes a small operation, and the result is compared with the same in plain steps. This
// file is compiled for any CPU, so that it cannot share a fault with what it checks.
#include "attention_case.h"
#include "kernels/kernels.h"
#include "operation_trial.h"
#include "shim.h"

#include <algorithm>
#include <cmath>

namespace {

using namespace ps::trial;

void fill(ggml_tensor * t, const std::vector<float> & from) { ggml_backend_tensor_set(t, from.data(), 0, from.size() * sizeof(float)); }

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

// Heads that are no power of two, which is where ALiBi is not simple, and all that a model may ask of attention, each once.
void check_attention(penstock_family family) {
    ps_attention_case plain{};
    plain.head_dim_k = plain.head_dim_v = 64;
    plain.heads      = 6;
    plain.kv_heads   = 2;
    plain.cells      = 192;
    plain.sequences = plain.threads = 2;
    plain.k_type = plain.v_type = GGML_TYPE_F16;
    auto capped = plain, biased = plain, sunk = plain;
    capped.soft_cap = 2;
    biased.max_bias = 8;
    sunk.sinks      = 1;
    for (const auto & c : { plain, capped, biased, sunk }) {
        for (const int64_t rows : row_counts) {
            auto sized = c;
            sized.rows = static_cast<int32_t>(rows);
            sized.sequences = rows > 1 ? 2 : 1;
            sized.cells     = c.cells / 2 * sized.sequences;
            ps_attention a(sized);
            compare(a.computed(), a.computed_plainly(), family == PENSTOCK_OWN ? 0.002f : 0.05f, rows); // ggml's keeps sums in 16 bits
        }
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
