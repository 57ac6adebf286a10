// SPDX-License-Identifier: MIT
// What products need of a CPU: registers with one row of weights in each lane, and sums of products
// of bytes in them. Products are computed where this header defines PENSTOCK_PRODUCTS.
#ifndef PENSTOCK_LANES_H
#define PENSTOCK_LANES_H

#include <cstdint>
#include <cstring>

#if defined(__AVX512F__) && defined(__AVX512BW__) && defined(__AVX512DQ__) && defined(__AVX512VL__) && defined(__AVX512VNNI__) && !defined(PENSTOCK_NARROW)
#define PENSTOCK_PRODUCTS "AVX-512 VNNI"
#define PENSTOCK_LANES 16
#include <immintrin.h>
#elif defined(__AVX2__) && defined(__FMA__) && defined(__F16C__)
#define PENSTOCK_LANES 8
#include <immintrin.h>
#if defined(__AVXVNNI__)
#define PENSTOCK_PRODUCTS "AVX-VNNI"
#define PENSTOCK_DPBUSD _mm256_dpbusd_avx_epi32
#elif defined(__AVX512VL__) && defined(__AVX512VNNI__) // the same instruction; for trying these kernels on CPUs with wider registers
#define PENSTOCK_PRODUCTS "AVX-VNNI"
#define PENSTOCK_DPBUSD _mm256_dpbusd_epi32
#else
#define PENSTOCK_PRODUCTS "AVX2"
#endif
#elif defined(__ARM_NEON) && defined(__aarch64__) && defined(__ARM_FEATURE_DOTPROD)
#define PENSTOCK_PRODUCTS "NEON"
#define PENSTOCK_LANES 4
#include <arm_neon.h>
#endif

#ifdef PENSTOCK_PRODUCTS

// A call for each block of weights would cost as much as its sums.
#define PENSTOCK_INLINE __attribute__((always_inline)) inline

namespace penstock {

constexpr int lanes = PENSTOCK_LANES;

// A word is four bytes of a row.
typedef float    floats __attribute__((vector_size(4 * lanes), may_alias));
typedef int32_t  ints __attribute__((vector_size(4 * lanes), may_alias));
typedef uint32_t words __attribute__((vector_size(4 * lanes), may_alias));
typedef uint16_t shorts __attribute__((vector_size(2 * lanes), may_alias));
typedef int8_t   bytes __attribute__((vector_size(lanes), may_alias));
typedef uint8_t  octets __attribute__((vector_size(lanes), may_alias));

inline floats to_floats(ints x) { return __builtin_convertvector(x, floats); }

template <typename T> T load(const char * from) {
    T x;
    memcpy(&x, from, sizeof(x));
    return x;
}

inline int32_t word_at(const int8_t * from) {
    int32_t word;
    memcpy(&word, from, sizeof(word));
    return word;
}

// Below, for each kind of CPU:
//   splat(x)                    x in all lanes
//   fma(a, b, c)                a*b + c, rounded once, so that all compilers make the same of it
//   halves(from)                floats of 16 bits in memory
//   columns(rows, at, to)       16 bytes of each row, `at` bytes from its beginning, as four words
//   lookup(table, indices)      table[i] for each byte i < 16
//   dot<largest, n>(sum, w, x)  sum + the products of n words of each row with those of x, byte by
//   byte. Weights are unsigned and at most
//                               `largest`; or, if that is signed_bytes, signed. Those of x are
//                               signed, and not -128.
// and signed_bytes, for weights of all eight bits: whether dot takes them as signed, or as unsigned
// with 128 added.
constexpr int signed_bytes = -1;

#if PENSTOCK_LANES == 16

constexpr int full_bytes = 255;

inline ints   splat(int32_t x) { return reinterpret_cast<ints>(_mm512_set1_epi32(x)); }
inline floats splat(float x) { return _mm512_set1_ps(x); }
inline floats fma(floats a, floats b, floats c) { return _mm512_fmadd_ps(a, b, c); }
inline floats halves(const char * from) { return _mm512_cvtph_ps(load<__m256i>(from)); }

inline void columns(const char * const * rows, int64_t at, words * to) {
    const auto row = [=](int r) { return load<__m128i>(rows[r] + at); };
    __m512i four[4];
    for (int r = 0; r < 4; r++) {
        const __m256i low = _mm256_inserti128_si256(_mm256_castsi128_si256(row(r)), row(r + 4), 1);
        four[r] = _mm512_inserti32x4(_mm512_inserti32x4(_mm512_castsi256_si512(low), row(r + 8), 2), row(r + 12), 3);
    }
    const __m512i a = _mm512_unpacklo_epi32(four[0], four[1]), b = _mm512_unpacklo_epi32(four[2], four[3]);
    const __m512i c = _mm512_unpackhi_epi32(four[0], four[1]), d = _mm512_unpackhi_epi32(four[2], four[3]);
    to[0] = reinterpret_cast<words>(_mm512_unpacklo_epi64(a, b));
    to[1] = reinterpret_cast<words>(_mm512_unpackhi_epi64(a, b));
    to[2] = reinterpret_cast<words>(_mm512_unpacklo_epi64(c, d));
    to[3] = reinterpret_cast<words>(_mm512_unpackhi_epi64(c, d));
}

inline words lookup(const uint8_t * table, words indices) {
    const __m512i all = _mm512_broadcast_i32x4(_mm_loadu_si128(reinterpret_cast<const __m128i *>(table)));
    return reinterpret_cast<words>(_mm512_shuffle_epi8(all, reinterpret_cast<__m512i>(indices)));
}

template <int largest, int n> ints dot(ints sum, const words * w, const int8_t * x) {
    __m512i s = reinterpret_cast<__m512i>(sum);
    for (int i = 0; i < n; i++) {
        s = _mm512_dpbusd_epi32(s, reinterpret_cast<__m512i>(w[i]), _mm512_set1_epi32(word_at(x + 4 * i)));
    }
    return reinterpret_cast<ints>(s);
}

#elif PENSTOCK_LANES == 8

#ifdef PENSTOCK_DPBUSD
constexpr int full_bytes = 255;
#else
constexpr int full_bytes = signed_bytes;
#endif

inline ints   splat(int32_t x) { return reinterpret_cast<ints>(_mm256_set1_epi32(x)); }
inline floats splat(float x) { return _mm256_set1_ps(x); }
inline floats fma(floats a, floats b, floats c) { return _mm256_fmadd_ps(a, b, c); }
inline floats halves(const char * from) { return _mm256_cvtph_ps(load<__m128i>(from)); }

inline void columns(const char * const * rows, int64_t at, words * to) {
    const auto row = [=](int r) { return load<__m128i>(rows[r] + at); };
    __m256i two[4];
    for (int r = 0; r < 4; r++) {
        two[r] = _mm256_inserti128_si256(_mm256_castsi128_si256(row(r)), row(r + 4), 1);
    }
    const __m256i a = _mm256_unpacklo_epi32(two[0], two[1]), b = _mm256_unpacklo_epi32(two[2], two[3]);
    const __m256i c = _mm256_unpackhi_epi32(two[0], two[1]), d = _mm256_unpackhi_epi32(two[2], two[3]);
    to[0] = reinterpret_cast<words>(_mm256_unpacklo_epi64(a, b));
    to[1] = reinterpret_cast<words>(_mm256_unpackhi_epi64(a, b));
    to[2] = reinterpret_cast<words>(_mm256_unpacklo_epi64(c, d));
    to[3] = reinterpret_cast<words>(_mm256_unpackhi_epi64(c, d));
}

inline words lookup(const uint8_t * table, words indices) {
    const __m256i all = _mm256_broadcastsi128_si256(_mm_loadu_si128(reinterpret_cast<const __m128i *>(table)));
    return reinterpret_cast<words>(_mm256_shuffle_epi8(all, reinterpret_cast<__m256i>(indices)));
}

template <int largest, int n> ints dot(ints sum, const words * w, const int8_t * x) {
    __m256i s = reinterpret_cast<__m256i>(sum);
    const auto weights = [=](int i) { return reinterpret_cast<__m256i>(w[i]); };
    const auto inputs  = [=](int i) { return _mm256_set1_epi32(word_at(x + 4 * i)); };
#ifdef PENSTOCK_DPBUSD
    for (int i = 0; i < n; i++) {
        s = PENSTOCK_DPBUSD(s, weights(i), inputs(i));
    }
#else
    const __m256i ones = _mm256_set1_epi16(1);
    if (largest == signed_bytes) { // |w| * (x with the sign of w): two are at most 2*128*127 and fit in 16 bits
        for (int i = 0; i < n; i++) {
            const __m256i two = _mm256_maddubs_epi16(_mm256_abs_epi8(weights(i)), _mm256_sign_epi8(inputs(i), weights(i)));
            s = _mm256_add_epi32(s, _mm256_madd_epi16(two, ones));
        }
        return reinterpret_cast<ints>(s);
    }
    constexpr int fit = largest > 0 ? 32767 / (2 * 127 * largest) : 1; // sums of two products that add up to no more than 16 bits
    constexpr int step = fit >= n ? n : fit >= 4 ? 4 : fit >= 2 ? 2 : 1;
    static_assert(fit > 0 && n % step == 0, "the products of two bytes fit in 16 bits");
#pragma GCC unroll 8
    for (int i = 0; i < n; i += step) {
        __m256i two = _mm256_maddubs_epi16(weights(i), inputs(i));
#pragma GCC unroll 8
        for (int k = 1; k < step; k++) {
            two = _mm256_add_epi16(two, _mm256_maddubs_epi16(weights(i + k), inputs(i + k)));
        }
        s = _mm256_add_epi32(s, _mm256_madd_epi16(two, ones));
    }
#endif
    return reinterpret_cast<ints>(s);
}

#else

constexpr int full_bytes = signed_bytes;

inline ints   splat(int32_t x) { return vdupq_n_s32(x); }
inline floats splat(float x) { return vdupq_n_f32(x); }
inline floats fma(floats a, floats b, floats c) { return vfmaq_f32(c, a, b); }
inline floats halves(const char * from) { return vcvt_f32_f16(vreinterpret_f16_u16(load<uint16x4_t>(from))); }

inline void columns(const char * const * rows, int64_t at, words * to) {
    const auto row = [=](int r) { return load<uint32x4_t>(rows[r] + at); };
    const uint32x4_t a = vzip1q_u32(row(0), row(2)), b = vzip1q_u32(row(1), row(3));
    const uint32x4_t c = vzip2q_u32(row(0), row(2)), d = vzip2q_u32(row(1), row(3));
    to[0] = vzip1q_u32(a, b);
    to[1] = vzip2q_u32(a, b);
    to[2] = vzip1q_u32(c, d);
    to[3] = vzip2q_u32(c, d);
}

inline words lookup(const uint8_t * table, words indices) {
    return vreinterpretq_u32_u8(vqtbl1q_u8(vld1q_u8(table), vreinterpretq_u8_u32(indices)));
}

template <int largest, int n> ints dot(ints sum, const words * w, const int8_t * x) {
    int32x4_t s = sum;
    const auto weights = [=](int i) { return vreinterpretq_s8_u32(w[i]); };
    for (int i = 0; i < n; i += 4) {
        const int8x16_t four = vld1q_s8(x + 4 * i);
        s = vdotq_laneq_s32(s, weights(i), four, 0);
        s = vdotq_laneq_s32(s, weights(i + 1), four, 1);
        s = vdotq_laneq_s32(s, weights(i + 2), four, 2);
        s = vdotq_laneq_s32(s, weights(i + 3), four, 3);
    }
    return s;
}

#endif

// What is added to weights of all eight bits before dot takes them.
constexpr int full_offset = full_bytes == signed_bytes ? 0 : 128;

} // namespace penstock

#endif
#endif
