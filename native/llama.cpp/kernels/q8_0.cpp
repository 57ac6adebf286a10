// SPDX-License-Identifier: MIT
// Weights in Q8_0, row after row. Few models consist of it, but often a model's output layer is Q8_0 where the rest has fewer bits, and
// with a large vocabulary that is a third of the work of decoding for several streams.
#include "operation.h"
#include "product.h"

#ifdef PENSTOCK_VNNI

#include <cstddef>

namespace {

static_assert(sizeof(block_q8_0) == 34 && offsetof(block_q8_0, d) == 0 && offsetof(block_q8_0, qs) == sizeof(ggml_half) && QK8_0 == penstock::block_values,
              "a scale in two bytes, then 32 values");

struct q8_0 {
    static constexpr int offset = 128;

    struct rows {
        const char * row[8]; // rows beyond the last are the last
        __m256i      distance; // of each from the first, in bytes

        rows(const char * first, int64_t stride, int64_t n) {
            for (int64_t r = 0; r < 8; r++) {
                row[r] = first + std::min(r, n - 1) * stride;
            }
            distance = _mm256_mullo_epi32(_mm256_set1_epi32(static_cast<int>(stride)),
                                          _mm256_min_epi32(_mm256_set_epi32(7, 6, 5, 4, 3, 2, 1, 0), _mm256_set1_epi32(static_cast<int>(n - 1))));
        }

        // Two rows: 32 bytes of each.
        __m512i two(int a, int b, int64_t at) const {
            const auto values = [at, this](int r) { return _mm256_loadu_si256(reinterpret_cast<const __m256i *>(row[r] + at + sizeof(ggml_half))); };
            return _mm512_inserti64x4(_mm512_castsi256_si512(values(a)), values(b), 1);
        }

        // Interleaves the rows by eight bytes: the first eight of all rows, then the second eight of all, and so on.
        penstock::weight_block block(int64_t i) const {
            const int64_t at   = i * sizeof(block_q8_0);
            const __m512i sign = _mm512_set1_epi8(static_cast<char>(0x80)); // 128 added flips the sign bit
            const __m512i even = two(0, 2, at), odd = two(1, 3, at), even4 = two(4, 6, at), odd4 = two(5, 7, at);
            const __m512i low  = _mm512_xor_si512(_mm512_unpacklo_epi64(even, odd), sign), low4 = _mm512_xor_si512(_mm512_unpacklo_epi64(even4, odd4), sign);
            const __m512i high = _mm512_xor_si512(_mm512_unpackhi_epi64(even, odd), sign), high4 = _mm512_xor_si512(_mm512_unpackhi_epi64(even4, odd4), sign);
            const __m256i scales = _mm256_i32gather_epi32(reinterpret_cast<const int *>(row[0] + at), distance, 1); // with two more bytes of each
            return { { _mm512_shuffle_i64x2(low, low4, 0x88), _mm512_shuffle_i64x2(high, high4, 0x88), _mm512_shuffle_i64x2(low, low4, 0xdd),
                       _mm512_shuffle_i64x2(high, high4, 0xdd) },
                     penstock::weight_block::duplicate(_mm256_cvtph_ps(_mm256_cvtepi32_epi16(scales))) };
        }
    };
};

} // namespace

ggml::cpu::tensor_traits * penstock::q8_0_for(const ggml_tensor * op) {
    static product_kernel<q8_0> kernel;
    const product a(op);
    return !a.weights->extra && a.is_matrix_product() ? &kernel : nullptr;
}

#else

ggml::cpu::tensor_traits * penstock::q8_0_for(const ggml_tensor *) { return nullptr; }

#endif
