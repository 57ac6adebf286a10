// SPDX-License-Identifier: MIT
// Weights in Q8_0. Few models have nothing else, but a model's output layer is often Q8_0 where the rest has fewer bits, and with a
// large vocabulary it is a third of the work of decoding for several streams.
#include "product.h"

#ifdef PENSTOCK_VNNI

namespace {

struct q8_0 {
    static constexpr int64_t values  = 2 * QK8_0; // two blocks fill a register
    static constexpr int64_t results = 1;

    // The instruction multiplies unsigned by signed bytes. Inputs have 128 added, and 128 times the weights is subtracted from
    // each sum before it begins: the result is that of signed bytes, exactly.
    struct alignas(64) input {
        uint8_t values[q8_0::values];
        float   scales[16]; // of the first block eight times, then of the second
    };

    static void prepare(const block_q8_0 * blocks, input * to) {
        for (int half = 0; half < 2; half++) {
            for (int i = 0; i < QK8_0; i++) {
                to->values[half * QK8_0 + i] = static_cast<uint8_t>(blocks[half].qs[i] + 128);
            }
            std::fill_n(to->scales + 8 * half, 8, GGML_CPU_FP16_TO_FP32(blocks[half].d));
        }
    }

    template <int N> static void multiply(const char * weights, const input * inputs, int64_t count, float * to, int64_t step) {
        const auto *  w      = reinterpret_cast<const block_q8_0 *>(weights);
        const __m512i zero   = _mm512_setzero_si512();
        const __m512i offset = _mm512_set1_epi8(static_cast<char>(128));
        __m512        sums[N];
        std::fill_n(sums, N, _mm512_setzero_ps());
        for (int64_t i = 0; i < count; i++, w += 2, inputs += N) {
            const auto    half   = [w](int b) { return _mm256_loadu_si256(reinterpret_cast<const __m256i *>(w[b].qs)); };
            const __m512i both   = _mm512_inserti64x4(_mm512_castsi256_si512(half(0)), half(1), 1);
            const __m512i start  = _mm512_sub_epi32(zero, _mm512_dpbusd_epi32(zero, offset, both));
            const __m512  scales = _mm512_insertf32x8(_mm512_set1_ps(GGML_CPU_FP16_TO_FP32(w[0].d)),
                                                      _mm256_set1_ps(GGML_CPU_FP16_TO_FP32(w[1].d)), 1);
#pragma GCC unroll 8
            for (int r = 0; r < N; r++) {
                const input & x   = inputs[r];
                const __m512i sum = _mm512_dpbusd_epi32(start, _mm512_load_si512(x.values), both);
                sums[r] = _mm512_fmadd_ps(_mm512_cvtepi32_ps(sum), _mm512_mul_ps(scales, _mm512_load_ps(x.scales)), sums[r]);
            }
        }
        for (int r = 0; r < N; r++) {
            to[r * step] = _mm512_reduce_add_ps(sums[r]);
        }
    }
};

} // namespace

ggml::cpu::tensor_traits * penstock::q8_0_for(const ggml_tensor * op) {
    static product_kernel<q8_0> kernel;
    const product a(op);
    return !a.weights->extra && a.width % q8_0::values == 0 && a.plain() ? &kernel : nullptr;
}

#else

ggml::cpu::tensor_traits * penstock::q8_0_for(const ggml_tensor *) { return nullptr; }

#endif
