// SPDX-License-Identifier: MIT
// Vectors of floats for the attention kernel, in the compiler's own notation, so that they are
// there on every CPU.
#ifndef PENSTOCK_VECTOR_H
#define PENSTOCK_VECTOR_H

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <utility>
#ifdef __AVX__
#include <immintrin.h>
#elif defined(__ARM_NEON)
#include <arm_neon.h>
#endif
#include "ggml.h"
#include "simd-mappings.h"

#define GGML_COMMON_DECL_CPP
#include "ggml-common.h"

#include <cstring>

namespace penstock {

#if defined(__AVX512F__)
constexpr int lanes = 16, most_rows_at_once = 6; // 24 sums in 32 registers
#elif defined(__AVX__)
constexpr int lanes = 8, most_rows_at_once = 2;
#else
constexpr int lanes = 4, most_rows_at_once = 2;
#endif

// Matrices that are multiplied from the right are stored by panels: four vectors of each row, panel
// after panel.
constexpr int panel_vectors = 4;
constexpr int panel_width   = panel_vectors * lanes;

typedef float   floats __attribute__((vector_size(4 * lanes), aligned(4), may_alias));
typedef int32_t ints __attribute__((vector_size(4 * lanes), aligned(4), may_alias));

// Elements of a row as floats. Of 16 bits only where the CPU converts them; elsewhere a row is
// converted before.
#if defined(__F16C__) || defined(__aarch64__)
constexpr bool loads_f16 = true;
#else
constexpr bool loads_f16 = false;
#endif

inline floats load(const float * from) { return *reinterpret_cast<const floats *>(from); }

// a*b + c, rounded once where the CPU has an instruction for it. Left to the compiler it depends on
// what is around it: for AMD's CPUs GCC makes of some sums a multiplication and an addition, which
// round twice, and so a row alone had other bits than among others.
inline floats fma(float a, floats b, floats c) {
#if defined(__AVX512F__)
    return (floats)_mm512_fmadd_ps(_mm512_set1_ps(a), (__m512)b, (__m512)c);
#elif defined(__AVX__) && defined(__FMA__)
    return (floats)_mm256_fmadd_ps(_mm256_set1_ps(a), (__m256)b, (__m256)c);
#elif defined(__aarch64__)
    return (floats)vfmaq_n_f32((float32x4_t)c, (float32x4_t)b, a);
#else
    return a * b + c;
#endif
}

inline floats load(const ggml_fp16_t * from) {
#if defined(__AVX512F__)
    return (floats)_mm512_cvtph_ps(_mm256_loadu_si256(reinterpret_cast<const __m256i *>(from)));
#elif defined(__AVX__) && defined(__F16C__)
    return (floats)_mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i *>(from)));
#elif defined(__aarch64__)
    return (floats)vcvt_f32_f16(vreinterpret_f16_u16(vld1_u16(from)));
#else
    return floats{} + *from; // is not called
#endif
}

typedef uint16_t shorts __attribute__((vector_size(2 * lanes), aligned(2), may_alias));

inline floats load(const ggml_bf16_t * from) {
    return (floats)(__builtin_convertvector(*reinterpret_cast<const shorts *>(from), ints) << 16);
}

// The vector of a row's elements from one on, which is a multiple of the lanes.
template <typename T> floats load(const T * row, int64_t element) { return load(row + element); }

typedef int8_t  bytes __attribute__((vector_size(lanes), may_alias));
typedef uint8_t octets __attribute__((vector_size(lanes), may_alias));

// A block's scale. GGML_CPU_FP16_TO_FP32 looks it up in a table of 256 KiB.
inline float scale_of(ggml_half x) {
#ifdef __F16C__
    return _cvtsh_ss(x);
#else
    return GGML_CPU_FP16_TO_FP32(x);
#endif
}

// Bytes as whole numbers of 32 bits. GCC 12 converts some kinds of vectors byte by byte.
inline ints widened(bytes x) {
#if defined(__AVX512F__)
    return (ints)_mm512_cvtepi8_epi32((__m128i)x);
#elif defined(__AVX2__)
    return (ints)_mm256_cvtepi8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i *>(&x)));
#else
    return __builtin_convertvector(x, ints);
#endif
}

inline ints widened(octets x) {
#if defined(__AVX512F__)
    return (ints)_mm512_cvtepu8_epi32((__m128i)x);
#elif defined(__AVX2__)
    return (ints)_mm256_cvtepu8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i *>(&x)));
#else
    return __builtin_convertvector(x, ints);
#endif
}

inline floats load(const block_q8_0 * row, int64_t element) {
    const block_q8_0 & block = row[element / QK8_0];
    bytes x;
    memcpy(&x, block.qs + element % QK8_0, sizeof(x));
    return __builtin_convertvector(widened(x), floats) * scale_of(block.d);
}

// The lower halves of the bytes are the first half of a block, the upper halves the second.
inline floats load(const block_q4_0 * row, int64_t element) {
    const block_q4_0 & block = row[element / QK4_0];
    octets x;
    memcpy(&x, block.qs + element % (QK4_0 / 2), sizeof(x));
    const ints both = widened(x); // GCC shifts bytes one by one
    return __builtin_convertvector((element % QK4_0 < QK4_0 / 2 ? both & 15 : both >> 4) - 8, floats) * scale_of(block.d);
}

// Whether vectors of a type are loaded from memory; rows of others are converted before.
inline bool is_loaded(ggml_type type) {
    return type == GGML_TYPE_F32 || type == GGML_TYPE_BF16 || (type == GGML_TYPE_F16 && loads_f16) || type == GGML_TYPE_Q8_0 || type == GGML_TYPE_Q4_0;
}

// Fetches a line to the second level of the cache. The first has no room: rows that lie a power of
// two apart share a few of its sets.
__attribute__((always_inline)) inline void fetch_to_l2(const void * from) { __builtin_prefetch(from, 0, 2); }

// Rows of a tile, and those of the next at the same places, which are fetched ahead: rows of one
// head lie too far apart for the core to do it by itself.
template <typename T> struct tile_rows {
    const char * const *rows, *const *ahead;

    floats operator()(int64_t row, int64_t element) const { return load(reinterpret_cast<const T *>(rows[row]), element); }

    // The same for an element that is a little further than one that begins a block.
    floats operator()(int64_t row, int64_t begin, int element) const {
        return load(reinterpret_cast<const T *>(rows[row]) + (has_blocks ? begin >> 5 : begin), element);
    }

    static constexpr bool    has_blocks = sizeof(T) > sizeof(float);
    static constexpr int64_t fetched    = has_blocks ? 32 : 64 / sizeof(T); // elements: a block, or as many as fill a cache line

    __attribute__((always_inline)) void fetch(int64_t row, int64_t element) const {
        const auto * const from = reinterpret_cast<const T *>(ahead[row]) + (has_blocks ? element / fetched : element);
        fetch_to_l2(from);
        if (has_blocks) { // which may begin in one line and end in the next
            fetch_to_l2(reinterpret_cast<const char *>(from + 1) - 1);
        }
    }
};

// Calls f with rows as what they are: of a type that is loaded.
template <typename F> void with_type(ggml_type type, const char * const * rows, const char * const * ahead, F f) {
    switch (type) {
        case GGML_TYPE_F16:  return f(tile_rows<ggml_fp16_t>{ rows, ahead });
        case GGML_TYPE_BF16: return f(tile_rows<ggml_bf16_t>{ rows, ahead });
        case GGML_TYPE_Q8_0: return f(tile_rows<block_q8_0>{ rows, ahead });
        case GGML_TYPE_Q4_0: return f(tile_rows<block_q4_0>{ rows, ahead });
        default:             return f(tile_rows<float>{ rows, ahead });
    }
}

// Elements of a followed by b, picked by their indices. GCC 11 has only the first of these, clang
// only the second.
template <int... I> floats pick(floats a, floats b) {
#ifdef __clang__
    return __builtin_shufflevector(a, b, I...);
#else
    return __builtin_shuffle(a, b, ints{ I... });
#endif
}

template <int... I> floats first_half(floats a, floats b, std::integer_sequence<int, I...>) {
    return pick<(I / 2 + I % 2 * lanes)...>(a, b);
}

template <int... I> floats second_half(floats a, floats b, std::integer_sequence<int, I...>) {
    return pick<(lanes / 2 + I / 2 + I % 2 * lanes)...>(a, b);
}

// Rows of 16 bits are transposed as they are where there are instructions for it, and become floats
// then, which is half the work. Whether that is so:
template <typename T> constexpr bool transposes_halves =
#if defined(__AVX2__) && defined(__F16C__)
    sizeof(T) == 2;

#ifdef __AVX512F__
typedef __m256i half_vector; // rows 0 to 7 in one half, rows 8 to 15 in the other

template <typename F> half_vector halves_of(F row, int i) { return _mm256_inserti128_si256(_mm256_castsi128_si256(row(i)), row(i + 8), 1); }
inline half_vector low_pairs(half_vector a, half_vector b) { return _mm256_unpacklo_epi16(a, b); }
inline half_vector high_pairs(half_vector a, half_vector b) { return _mm256_unpackhi_epi16(a, b); }
#else
typedef __m128i half_vector;

template <typename F> half_vector halves_of(F row, int i) { return row(i); }
inline half_vector low_pairs(half_vector a, half_vector b) { return _mm_unpacklo_epi16(a, b); }
inline half_vector high_pairs(half_vector a, half_vector b) { return _mm_unpackhi_epi16(a, b); }
#endif

// Eight columns of as many rows as there are lanes, by interleaving as below.
template <typename T> __attribute__((always_inline)) inline void eight_columns(const tile_rows<T> & from, int64_t first, int64_t element, floats * to) {
    const auto row = [&](int i) { return _mm_loadu_si128(reinterpret_cast<const __m128i *>(reinterpret_cast<const T *>(from.rows[first + i]) + element)); };
    half_vector square[8], next[8];
    for (int i = 0; i < 8; i++) {
        square[i] = halves_of(row, i);
    }
    for (int stage = 0; stage < 3; stage++) {
        for (int i = 0; i < 4; i++) {
            next[2 * i]     = low_pairs(square[i], square[i + 4]);
            next[2 * i + 1] = high_pairs(square[i], square[i + 4]);
        }
        for (int i = 0; i < 8; i++) {
            square[i] = next[i];
        }
    }
    for (int i = 0; i < 8; i++) {
        to[i] = load(reinterpret_cast<const T *>(&square[i]));
    }
}
#else
    false;

template <typename T> void eight_columns(const tile_rows<T> &, int64_t, int64_t, floats *) {} // is not called
#endif

// Fetches the next tile's rows, as many as there are lanes, where an element begins a line.
template <typename T> __attribute__((always_inline)) inline void fetch_rows(const tile_rows<T> & from, int64_t first, int64_t element) {
    for (int i = 0; element % from.fetched == 0 && i < lanes; i++) {
        from.fetch(first + i, element);
    }
}

// Transposes n rows into panels, for the right side of multiply, and as many more as fill the last
// vector; these have to exist too. It goes by squares of vectors: a square is transposed by
// interleaving the rows of its upper half with those of its lower half, log2(lanes) times.
template <typename T> void transpose_to_panels(const tile_rows<T> & from, float * panels, int64_t n, int64_t width) {
    constexpr auto order = std::make_integer_sequence<int, lanes>{};
    constexpr int  side  = transposes_halves<T> ? 8 : lanes; // of a square, in columns
    for (int64_t r = 0; r < n; r += lanes) {
        for (int64_t d = 0; d < width; d += side) {
            floats square[side], next[side];
            fetch_rows(from, r, d);
            if constexpr (transposes_halves<T>) {
                eight_columns(from, r, d, square);
            } else {
                for (int i = 0; i < lanes; i++) {
                    square[i] = from(r + i, d);
                }
                for (int stage = 1; stage < lanes; stage *= 2) {
                    for (int i = 0; i < lanes / 2; i++) {
                        next[2 * i]     = first_half(square[i], square[i + lanes / 2], order);
                        next[2 * i + 1] = second_half(square[i], square[i + lanes / 2], order);
                    }
                    for (int i = 0; i < lanes; i++) {
                        square[i] = next[i];
                    }
                }
            }
            for (int i = 0; i < side; i++) {
                reinterpret_cast<floats *>(panels)[(r / lanes / panel_vectors * width + d + i) * panel_vectors + r / lanes % panel_vectors] = square[i];
            }
        }
    }
}

// The scores of few queries for n keys, the same to the bit as by panels. Keys go from their rows
// into the sums, and are not stored in between.
template <int R, typename T>
void score_halves(const float * queries, int64_t width, const tile_rows<T> & keys, int64_t n, float * scores, int64_t scores_width) {
    for (int64_t c = 0; c < n; c += lanes) {
        floats sums[R] = {};
        for (int64_t d = 0; d < width; d += 8) {
            floats columns[8];
            fetch_rows(keys, c, d);
            eight_columns(keys, c, d, columns);
            for (int i = 0; i < 8; i++) {
                for (int r = 0; r < R; r++) {
                    sums[r] = fma(queries[r * width + d + i], columns[i], sums[r]);
                }
            }
        }
        for (int r = 0; r < R; r++) {
            *reinterpret_cast<floats *>(scores + r * scores_width + c) = sums[r];
        }
    }
}

// The same for a number of queries; false where there are too many, or no such instructions.
template <typename T> bool score_halves(const float * queries, int64_t width, int64_t rows, const tile_rows<T> & keys, int64_t n, float * scores, int64_t scores_width) {
    if constexpr (transposes_halves<T>) {
        switch (rows) {
            case 1: score_halves<1>(queries, width, keys, n, scores, scores_width); return true;
            case 2: score_halves<2>(queries, width, keys, n, scores, scores_width); return true;
            case 3: score_halves<3>(queries, width, keys, n, scores, scores_width); return true;
            case 4: score_halves<4>(queries, width, keys, n, scores, scores_width); return true;
            case 5: score_halves<5>(queries, width, keys, n, scores, scores_width); return true;
            case 6: score_halves<6>(queries, width, keys, n, scores, scores_width); return true;
            case 7: score_halves<7>(queries, width, keys, n, scores, scores_width); return true;
            case 8: score_halves<8>(queries, width, keys, n, scores, scores_width); return true;
        }
    }
    return false;
}

// A bit for each of up to 64 values of a mask in 16 bits: whether it is not -Inf. other is set
// where a value is neither -Inf nor 0.
inline uint64_t visible(const uint16_t * mask, int64_t n, uint64_t & other) {
    constexpr uint16_t minus_inf = 0xfc00;
    uint64_t bits = 0;
#ifdef __AVX512BW__
    for (int64_t i = 0; i < n; i += 32) {
        const auto      there = static_cast<__mmask32>(~uint64_t(0) >> (64 - std::min<int64_t>(n - i, 32)));
        const __m512i   x     = _mm512_maskz_loadu_epi16(there, mask + i);
        const __mmask32 some  = _mm512_mask_cmpneq_epi16_mask(there, x, _mm512_set1_epi16(static_cast<short>(minus_inf)));
        bits |= static_cast<uint64_t>(some) << i;
        other |= _mm512_mask_test_epi16_mask(some, x, _mm512_set1_epi16(0x7fff));
    }
#else
    for (int64_t i = 0; i < n; i++) {
        bits |= static_cast<uint64_t>(mask[i] != minus_inf) << i;
        other |= mask[i] != minus_inf ? mask[i] & 0x7fff : 0;
    }
#endif
    return bits;
}

// The nearest whole numbers of numbers below 2^22.
inline floats rounded(floats x) {
    constexpr float magic = 1.5f * (1 << 23); // floats of this size have no fraction
    return (x + magic) - magic;
}

// 2^(x-base) for a whole base that x is not far above. The part computed from x's fraction does not
// depend on the base, so results for two bases differ by a power of two, exactly, unless the
// smaller is below 2^-126. NaN stays NaN.
inline floats power_of_two(floats x, float base) {
    x = x < base - 160 ? base - 160 + floats{} : x; // -Inf has no fraction
    const floats n = rounded(x), y = (x - n) * 0.69314718f; // |y| <= ln(2)/2
    floats p = 1.0f / 5040 + floats{};
    for (const float c : { 1.0f / 720, 1.0f / 120, 1.0f / 24, 1.0f / 6, 0.5f, 1.0f, 1.0f }) {
        p = p * y + c;
    }
    floats exponent = n - base;
    exponent = exponent > -127 ? exponent : -127 + floats{}; // NaN too
    exponent = exponent < 128 ? exponent : 128 + floats{};
    return p * (floats)((__builtin_convertvector(exponent, ints) + 127) << 23);
}

// Scores that a soft cap limits, times log2(e): of x, which is twice the score by the cap, times
// log2(e).
inline floats capped(floats x, float cap) {
    const floats tanh = 1 - 2 / (power_of_two(x, 0) + 1);
    return cap * 1.44269504f * tanh;
}

// Whether any lane of a comparison holds.
inline bool any(ints x) {
#ifdef __AVX512F__
    return _mm512_test_epi32_mask((__m512i)x, (__m512i)x) != 0;
#else
    int32_t all = 0;
    for (int i = 0; i < lanes; i++) {
        all |= x[i];
    }
    return all != 0;
#endif
}

// Rows of the right side of a product: of a panel, or each by itself, of any type.
struct panel_rows {
    const float * panel;
    int64_t       width; // of a row of the panel

    floats operator()(int64_t k, int i) const { return load(panel + k * width + i * lanes); }
};

template <typename T, int V> struct single_rows {
    const tile_rows<T> & rows;
    int64_t              first; // element of each

    floats operator()(int64_t k, int i) const {
        if (i * lanes % rows.fetched == 0) {
            rows.fetch(k, first + i * lanes);
        }
        return V * lanes % 32 == 0 ? rows(k, first, i * lanes) : rows(k, first + i * lanes);
    }
};

// out = left * right, or added to out, for R rows and V vectors. Rows of left and out are
// left_width and out_width apart; of a row of left `depth` elements are used, and as many rows of
// right.
template <bool add, int R, int V, typename Rows>
void multiply(const float * left, int64_t left_width, int64_t depth, const Rows & right, float * out, int64_t out_width) {
    floats sums[R][V] = {};
    for (int64_t k = 0; k < depth; k++) {
        floats row[V];
        for (int i = 0; i < V; i++) {
            row[i] = right(k, i);
        }
        for (int r = 0; r < R; r++) {
            for (int i = 0; i < V; i++) {
                sums[r][i] = fma(left[r * left_width + k], row[i], sums[r][i]);
            }
        }
    }
    for (int r = 0; r < R; r++) {
        for (int i = 0; i < V; i++) {
            floats & to = reinterpret_cast<floats *>(out + r * out_width)[i];
            to = add ? to + sums[r][i] : sums[r][i];
        }
    }
}

// The same for any number of rows.
template <bool add, int V, typename Rows>
void multiply(const float * left, int64_t left_width, int64_t rows, int64_t depth, const Rows & right, float * out, int64_t out_width) {
    for (; rows >= most_rows_at_once; rows -= most_rows_at_once) {
        multiply<add, most_rows_at_once, V>(left, left_width, depth, right, out, out_width);
        left += most_rows_at_once * left_width;
        out += most_rows_at_once * out_width;
    }
    switch (rows) {
        case 5: return multiply<add, 5, V>(left, left_width, depth, right, out, out_width);
        case 4: return multiply<add, 4, V>(left, left_width, depth, right, out, out_width);
        case 3: return multiply<add, 3, V>(left, left_width, depth, right, out, out_width);
        case 2: return multiply<add, 2, V>(left, left_width, depth, right, out, out_width);
        case 1: return multiply<add, 1, V>(left, left_width, depth, right, out, out_width);
    }
}

} // namespace penstock

#endif
