// SPDX-License-Identifier: MIT
// Products of quantised weights and several rows of inputs, on CPUs with VNNI: 64 products of bytes an instruction. ggml's kernels widen
// bytes to 16 bits first and take two to four times as long; even for one row, which memory should bound, they take a sixth longer. And
// a row's result is the same to the bit however many other rows there are.
//
// Eight rows of weights are multiplied side by side, in blocks of 32 values: every 64 bits of a register are eight values of one row. A
// format says how its weights become such blocks; the rest, in this file, is the same for all formats.
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

constexpr int64_t rows_at_once = 8;  // rows of inputs that a weight is multiplied with while it is in a register
constexpr int64_t unit_results = 64; // rows of weights in a unit of work: they stay in the core's own cache for all inputs
constexpr int64_t block_values = 32; // of ggml's block formats
static_assert(QK8_0 == block_values && sizeof(block_q8_0::qs) == block_values, "inputs are quantised to the same blocks");

// One operation. Shapes (innermost first): weights [width, results], inputs [width, rows], out [results, rows].
struct product {
    const ggml_tensor *weights, *inputs;
    ggml_tensor *      out;
    int64_t            width, results, rows;

    explicit product(const ggml_tensor * op)
        : weights(op->src[0]), inputs(op->src[1]), out(const_cast<ggml_tensor *>(op)), width(weights->ne[0]),
          results(weights->ne[1]), rows(inputs->ne[1]) {}

    // Whether it is one matrix by one matrix, as in the layers of a dense model.
    bool is_matrix_product() const {
        auto flat = [](const ggml_tensor * t) { return t->ne[2] == 1 && t->ne[3] == 1; };
        return flat(weights) && flat(inputs) && inputs->type == GGML_TYPE_F32 && inputs->nb[0] == sizeof(float) &&
               out->type == GGML_TYPE_F32 && out->nb[0] == sizeof(float);
    }
};

// The instruction multiplies unsigned by signed bytes. So an offset is added to weights, which makes them unsigned, and each sum starts at
// minus the offset times the inputs: the result is exactly that of signed bytes.

// A block of one row of inputs.
struct input_block {
    int64_t values[4]; // eight each
    int64_t start;     // minus the offset times all of them, in the lower 32 bits; a sum has two parts
    float   scale;

    input_block(const block_q8_0 & block, int offset) : scale(GGML_CPU_FP16_TO_FP32(block.d)) {
        int32_t sum = 0;
        for (int i = 0; i < QK8_0; i++) {
            sum += block.qs[i];
        }
        memcpy(values, block.qs, sizeof(values));
        start = static_cast<uint32_t>(-offset * sum);
    }
};

// A block of eight rows of weights.
struct weight_block {
    __m512i values[4];
    __m512  scale; // of each row, twice

    static __m512 duplicate(__m256 scales) {
        const __m512i order = _mm512_set_epi32(7, 7, 6, 6, 5, 5, 4, 4, 3, 3, 2, 2, 1, 1, 0, 0);
        return _mm512_permutexvar_ps(order, _mm512_castps256_ps512(scales));
    }

    __m512 times(const input_block & x, __m512 sums) const {
        __m512i sum = _mm512_set1_epi64(x.start);
        for (int i = 0; i < 4; i++) {
            sum = _mm512_dpbusd_epi32(sum, values[i], _mm512_set1_epi64(x.values[i]));
        }
        return _mm512_fmadd_ps(_mm512_cvtepi32_ps(sum), _mm512_mul_ps(scale, _mm512_set1_ps(x.scale)), sums);
    }
};

// Writes the first n of eight results. The two parts of a row's sum are added up.
inline void store(__m512 sums, float * to, int64_t n) {
    const __m512 both = _mm512_add_ps(sums, _mm512_permute_ps(sums, 0xb1)); // in both places
    _mm256_mask_storeu_ps(to, static_cast<__mmask8>((1 << std::min<int64_t>(n, 8)) - 1), _mm512_castps512_ps256(_mm512_maskz_compress_ps(0x5555, both)));
}

// Format has
//   offset                     what is added to its weights
//   rows(first, stride, n)     eight rows of weights from first on, stride bytes apart; only n of them need to exist
//   rows::block(i)             their blocks number i, as a weight_block
template <typename Format> struct product_kernel : ggml::cpu::tensor_traits {
    static int64_t blocks_per_row(const product & a) { return a.width / block_values; }

    // The work memory: the inputs of all rows, then a quantised row for each thread.
    static size_t inputs_size(const product & a) { return GGML_PAD(a.rows * blocks_per_row(a) * sizeof(input_block), 64); }
    static size_t row_size(const product & a) { return GGML_PAD(a.width / QK8_0 * sizeof(block_q8_0), 64); }

    bool work_size(int threads, const ggml_tensor * op, size_t & size) override {
        const product a(op);
        size = inputs_size(a) + threads * row_size(a) + 64;
        return true;
    }

    // Rows that are multiplied at once form a group, with their blocks interleaved: the first block of each row, then the second of each.
    static int64_t group_size(const product & a, int64_t row) { return std::min(rows_at_once, a.rows - row / rows_at_once * rows_at_once); }

    static void quantise(const product & a, int64_t row, block_q8_0 * blocks, input_block * inputs) {
        input_block *      to   = inputs + row / rows_at_once * rows_at_once * blocks_per_row(a) + row % rows_at_once;
        const char * from = static_cast<const char *>(a.inputs->data) + row * a.inputs->nb[1];
        ggml_get_type_traits_cpu(GGML_TYPE_Q8_0)->from_float(reinterpret_cast<const float *>(from), blocks, a.width);
        for (int64_t i = 0; i < blocks_per_row(a); i++) {
            to[i * group_size(a, row)] = input_block(blocks[i], Format::offset);
        }
    }

    // n rows of weights, of which it takes up to 16, by N rows of inputs. Results of row r of the inputs go to to[r*step], to[r*step+1], ...
    // Each input is read once for two blocks of weights.
    template <int N>
    static void multiply(const char * weights, int64_t stride, int64_t n, const input_block * inputs, int64_t blocks, float * to, int64_t step) {
        const typename Format::rows a(weights, stride, n), b(n > 8 ? weights + 8 * stride : weights, stride, n > 8 ? n - 8 : n);
        __m512 sums[2][N];
        std::fill_n(&sums[0][0], 2 * N, _mm512_setzero_ps());
        const int64_t bytes = 16 * stride / blocks;
        const char *  next  = weights + 16 * stride;
        for (int64_t i = 0; i < blocks; i++, inputs += N, next += bytes) {
            for (int64_t line = 0; line < bytes; line += 64) { // the next weights: the core itself prefetches fewer streams than 16
                _mm_prefetch(next + line, _MM_HINT_T0);
            }
            const weight_block first = a.block(i), second = b.block(i);
#pragma GCC unroll 8
            for (int r = 0; r < N; r++) {
                sums[0][r] = first.times(inputs[r], sums[0][r]);
                sums[1][r] = second.times(inputs[r], sums[1][r]);
            }
        }
        for (int r = 0; r < N; r++) {
            store(sums[0][r], to + r * step, n);
            if (n > 8) {
                store(sums[1][r], to + r * step + 8, n - 8);
            }
        }
    }

    using multiplier = void (*)(const char *, int64_t, int64_t, const input_block *, int64_t, float *, int64_t);

    template <int... N> static multiplier multiplier_for(int64_t n, std::integer_sequence<int, N...>) {
        static constexpr multiplier all[] = { multiply<N + 1>... };
        return all[n - 1];
    }

    static void compute(const product & a, int64_t first, int64_t last, const input_block * inputs) {
        const auto step   = static_cast<int64_t>(a.out->nb[1] / sizeof(float));
        const auto stride = static_cast<int64_t>(a.weights->nb[1]);
        for (int64_t r = 0; r < a.rows; r += rows_at_once) {
            const auto run = multiplier_for(group_size(a, r), std::make_integer_sequence<int, rows_at_once>{});
            float *    to  = static_cast<float *>(a.out->data) + r * step;
            for (int64_t m = first; m < last; m += 16) {
                run(static_cast<const char *>(a.weights->data) + m * stride, stride, last - m, inputs + r * blocks_per_row(a), blocks_per_row(a), to + m, step);
            }
        }
    }

    bool compute_forward(ggml_compute_params * params, ggml_tensor * op) override {
        if (params->use_ref) {
            return false; // ggml's kernel is the reference; it fits in the memory above
        }
        const product a(op);
        char * const  start  = aligned_memory(params);
        auto * const  inputs = reinterpret_cast<input_block *>(start);
        auto * const  blocks = reinterpret_cast<block_q8_0 *>(start + inputs_size(a) + params->ith * row_size(a));
        for (int64_t r = params->ith; r < a.rows; r += params->nth) {
            quantise(a, r, blocks, inputs);
        }
        share_work(params, (a.results + unit_results - 1) / unit_results, [&](int64_t unit) {
            compute(a, unit * unit_results, std::min((unit + 1) * unit_results, a.results), inputs);
        });
        return true;
    }
};

} // namespace penstock

#endif
#endif
