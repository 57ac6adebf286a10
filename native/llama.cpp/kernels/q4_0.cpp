// SPDX-License-Identifier: MIT
// Weights in Q4_0, as ggml lays them out anew when a model is loaded: the same block of eight rows side by side, eight bytes of each in
// turn. A byte holds value i of its row in its lower half and value i+16 in its upper half, both as signed numbers of four bits.
#include "product.h"

#ifdef PENSTOCK_VNNI

#include "repack.h"

namespace {

struct q4_0 {
    static constexpr int64_t values  = QK4_0;
    static constexpr int64_t results = 16;

    // The instruction multiplies unsigned by signed bytes. Weights have 8 added, which makes them unsigned, and 8 times the inputs is
    // subtracted from each sum before it begins.
    struct input {
        int64_t values[4]; // eight inputs each
        int64_t start;     // in the lower 32 bits; a row's sum is kept in two parts
        float   scale;
    };

    static void prepare(const block_q8_0 * block, input * to) {
        int32_t sum = 0;
        for (int i = 0; i < QK8_0; i++) {
            sum += block->qs[i];
        }
        memcpy(to->values, block->qs, sizeof(to->values));
        to->start = static_cast<uint32_t>(-8 * sum);
        to->scale = GGML_CPU_FP16_TO_FP32(block->d);
    }

    // Half a block of eight rows as unsigned bytes: two registers of the values the lower and the upper halves of the bytes hold.
    struct pair {
        __m512i lower, upper;

        explicit pair(const int8_t * from) {
            const __m512i half  = _mm512_set1_epi8(0x0f);
            const __m512i bytes = _mm512_xor_si512(_mm512_loadu_si512(from), _mm512_set1_epi8(static_cast<char>(0x88)));
            lower = _mm512_and_si512(bytes, half);
            upper = _mm512_and_si512(_mm512_srli_epi16(bytes, 4), half);
        }
    };

    // A block of eight rows.
    struct octet {
        pair   first, second;
        __m512 scale; // each row's twice

        explicit octet(const block_q4_0x8 & w) : first(w.qs), second(w.qs + 64) {
            const __m512i twice = _mm512_set_epi32(7, 7, 6, 6, 5, 5, 4, 4, 3, 3, 2, 2, 1, 1, 0, 0);
            const __m256  once  = _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i *>(w.d)));
            scale = _mm512_permutexvar_ps(twice, _mm512_castps256_ps512(once));
        }

        __m512 times(const input & x, __m512 sums) const {
            __m512i sum = _mm512_dpbusd_epi32(_mm512_set1_epi64(x.start), first.lower, _mm512_set1_epi64(x.values[0]));
            sum = _mm512_dpbusd_epi32(sum, second.lower, _mm512_set1_epi64(x.values[1]));
            sum = _mm512_dpbusd_epi32(sum, first.upper, _mm512_set1_epi64(x.values[2]));
            sum = _mm512_dpbusd_epi32(sum, second.upper, _mm512_set1_epi64(x.values[3]));
            return _mm512_fmadd_ps(_mm512_cvtepi32_ps(sum), _mm512_mul_ps(scale, _mm512_set1_ps(x.scale)), sums);
        }
    };

    // What a row's two parts add up to.
    static void store(__m512 sums, float * to) {
        const __m512 both = _mm512_add_ps(sums, _mm512_permute_ps(sums, 0xb1)); // in both places
        _mm256_storeu_ps(to, _mm512_castps512_ps256(_mm512_maskz_compress_ps(0x5555, both)));
    }

    // Two blocks of eight rows at once: an input is read for both.
    template <int N> static void multiply(const char * weights, const input * inputs, int64_t count, float * to, int64_t step) {
        const auto * w = reinterpret_cast<const block_q4_0x8 *>(weights);
        __m512       sums[2][N];
        std::fill_n(&sums[0][0], 2 * N, _mm512_setzero_ps());
        for (int64_t i = 0; i < count; i++, inputs += N) {
            const octet a(w[i]), b(w[i + count]);
#pragma GCC unroll 8
            for (int r = 0; r < N; r++) {
                sums[0][r] = a.times(inputs[r], sums[0][r]);
                sums[1][r] = b.times(inputs[r], sums[1][r]);
            }
        }
        for (int r = 0; r < N; r++) {
            store(sums[0][r], to + r * step);
            store(sums[1][r], to + r * step + 8);
        }
    }
};

} // namespace

ggml::cpu::tensor_traits * penstock::q4_0_for(const ggml_tensor * op) {
    static product_kernel<q4_0> kernel;
    const product a(op);
    const bool laid_out = a.weights->buffer && a.weights->buffer->buft == ggml_backend_cpu_repack_buffer_type();
    return laid_out && a.results % q4_0::results == 0 && a.plain() ? &kernel : nullptr;
}

#else

ggml::cpu::tensor_traits * penstock::q4_0_for(const ggml_tensor *) { return nullptr; }

#endif
