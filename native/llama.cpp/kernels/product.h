// SPDX-License-Identifier: MIT
// Products of quantised weights and several rows of inputs, on CPUs with VNNI: 64 products of bytes an instruction. ggml's kernels widen
// bytes to 16 bits first and take two to four times as long; even for one row, which memory should bound, they take a sixth longer. And
// a row's result does not depend on how many others there are, to the last bit.
//
// A format says how weights lie in memory and how inputs are to lie for them; what is here is the same for all.
#ifndef PENSTOCK_PRODUCT_H
#define PENSTOCK_PRODUCT_H

#if defined(__AVX512F__) && defined(__AVX512BW__) && defined(__AVX512DQ__) && defined(__AVX512VL__) && defined(__AVX512VNNI__)
#define PENSTOCK_VNNI

#include "operation.h"

#define GGML_COMMON_DECL_CPP
#include "ggml-common.h"
#include "ggml-cpu.h"
#include "simd-mappings.h"

#include <algorithm>
#include <immintrin.h>
#include <utility>

namespace penstock {

constexpr int64_t rows_at_once = 8;  // inputs a weight is multiplied with while it is in a register
constexpr int64_t unit_results = 64; // weight rows of a unit of work: they stay in the core's own cache for all inputs

// One operation. Shapes (innermost first): weights [width, results], inputs [width, rows], out [results, rows].
struct product {
    const ggml_tensor *weights, *inputs;
    ggml_tensor *      out;
    int64_t            width, results, rows;

    explicit product(const ggml_tensor * op)
        : weights(op->src[0]), inputs(op->src[1]), out(const_cast<ggml_tensor *>(op)), width(weights->ne[0]),
          results(weights->ne[1]), rows(inputs->ne[1]) {}

    // Whether it is one matrix by one matrix, as every layer of a dense model has it.
    bool plain() const {
        auto flat = [](const ggml_tensor * t) { return t->ne[2] == 1 && t->ne[3] == 1; };
        return flat(weights) && flat(inputs) && inputs->type == GGML_TYPE_F32 && inputs->nb[0] == sizeof(float) &&
               out->type == GGML_TYPE_F32 && out->nb[0] == sizeof(float);
    }
};

// Format has
//   input                      the inputs that are multiplied with weights at once: `values` of a row, quantised
//   values, results            how many inputs that are, and how many weight rows lie side by side
//   prepare(blocks, to)        makes an input of ggml's quantised blocks
//   multiply<N>(weights, inputs, count, to, step)
//                              `results` weight rows by N rows of `count` inputs, those of all rows in turn; row r goes to
//                              to[r*step], to[r*step+1], ...
template <typename Format> struct product_kernel : ggml::cpu::tensor_traits {
    using input = typename Format::input;

    static int64_t count(const product & a) { return a.width / Format::values; }

    // The inputs of all rows, then a quantised row for each thread.
    static size_t inputs_size(const product & a) { return GGML_PAD(a.rows * count(a) * sizeof(input), 64); }
    static size_t row_size(const product & a) { return GGML_PAD(a.width / QK8_0 * sizeof(block_q8_0), 64); }

    bool work_size(int threads, const ggml_tensor * op, size_t & size) override {
        const product a(op);
        size = inputs_size(a) + threads * row_size(a) + 64;
        return true;
    }

    // Rows that are multiplied at once have their inputs in turn: the first of each row, then the second of each.
    static int64_t together(const product & a, int64_t row) { return std::min(rows_at_once, a.rows - row / rows_at_once * rows_at_once); }

    static void quantise(const product & a, int64_t row, block_q8_0 * blocks, input * inputs) {
        input *      to   = inputs + row / rows_at_once * rows_at_once * count(a) + row % rows_at_once;
        const char * from = static_cast<const char *>(a.inputs->data) + row * a.inputs->nb[1];
        ggml_get_type_traits_cpu(GGML_TYPE_Q8_0)->from_float(reinterpret_cast<const float *>(from), blocks, a.width);
        for (int64_t i = 0; i < count(a); i++) {
            Format::prepare(blocks + i * (Format::values / QK8_0), to + i * together(a, row));
        }
    }

    using multiplier = void (*)(const char *, const input *, int64_t, float *, int64_t);

    template <int... N> static multiplier multiplier_for(int64_t n, std::integer_sequence<int, N...>) {
        static constexpr multiplier all[] = { Format::template multiply<N + 1>... };
        return all[n - 1];
    }

    static void compute(const product & a, int64_t first, int64_t last, const input * inputs) {
        const auto step = static_cast<int64_t>(a.out->nb[1] / sizeof(float));
        for (int64_t r = 0; r < a.rows; r += rows_at_once) {
            const auto run = multiplier_for(together(a, r), std::make_integer_sequence<int, rows_at_once>{});
            float *    to  = static_cast<float *>(a.out->data) + r * step;
            for (int64_t m = first; m < last; m += Format::results) {
                run(static_cast<const char *>(a.weights->data) + m * a.weights->nb[1], inputs + r * count(a), count(a), to + m, step);
            }
        }
    }

    bool compute_forward(ggml_compute_params * params, ggml_tensor * op) override {
        if (params->use_ref) {
            return false; // ggml's kernel is the reference; it fits into the memory above
        }
        const product a(op);
        char * const  start  = aligned(params);
        auto * const  inputs = reinterpret_cast<input *>(start);
        auto * const  blocks = reinterpret_cast<block_q8_0 *>(start + inputs_size(a) + params->ith * row_size(a));
        for (int64_t r = params->ith; r < a.rows; r += params->nth) {
            quantise(a, r, blocks, inputs);
        }
        share(params, (a.results + unit_results - 1) / unit_results, [&](int64_t unit) {
            compute(a, unit * unit_results, std::min((unit + 1) * unit_results, a.results), inputs);
        });
        return true;
    }
};

} // namespace penstock

#endif
#endif
