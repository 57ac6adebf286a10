// SPDX-License-Identifier: MIT
// Weights in Q4_0, in the layout that ggml repacks them to when a model is loaded: the blocks of eight rows are interleaved, eight bytes
// of each in turn. A byte holds value i of its row in its lower half and value i+16 in its upper half, as signed numbers of four bits.
#include "operation.h"
#include "product.h"

#ifdef PENSTOCK_VNNI

#include "repack.h"

#include <cstddef>

namespace {

static_assert(sizeof(block_q4_0x8) == 144 && offsetof(block_q4_0x8, d) == 0 && sizeof(block_q4_0x8::d) == 16 && offsetof(block_q4_0x8, qs) == 16 &&
                  QK4_0 == penstock::block_values,
              "eight scales, then 32 values of eight rows in four bits each");

struct q4_0 {
    static constexpr int offset = 8;

    struct rows {
        const block_q4_0x8 * blocks;

        rows(const char * first, int64_t, int64_t) : blocks(reinterpret_cast<const block_q4_0x8 *>(first)) {}

        penstock::weight_block block(int64_t i) const {
            const block_q4_0x8 & w = blocks[i];
            const __m512i half = _mm512_set1_epi8(0x0f), sign = _mm512_set1_epi8(static_cast<char>(0x88)); // 8 added flips the sign bit
            const __m512i a = _mm512_xor_si512(_mm512_loadu_si512(w.qs), sign), b = _mm512_xor_si512(_mm512_loadu_si512(w.qs + 64), sign);
            return { { _mm512_and_si512(a, half), _mm512_and_si512(b, half), _mm512_and_si512(_mm512_srli_epi16(a, 4), half),
                       _mm512_and_si512(_mm512_srli_epi16(b, 4), half) },
                     penstock::weight_block::duplicate(_mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i *>(w.d)))) };
        }
    };
};

} // namespace

ggml::cpu::tensor_traits * penstock::q4_0_for(const ggml_tensor * op) {
    static product_kernel<q4_0> kernel;
    const product a(op);
    const bool repacked = a.weights->buffer && a.weights->buffer->buft == ggml_backend_cpu_repack_buffer_type();
    return repacked && a.results % 8 == 0 && a.is_matrix_product() ? &kernel : nullptr;
}

#else

ggml::cpu::tensor_traits * penstock::q4_0_for(const ggml_tensor *) { return nullptr; }

#endif
