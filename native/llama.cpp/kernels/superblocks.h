// SPDX-License-Identifier: MIT
// The formats whose blocks have 256 values, in 32s or 16s with small whole numbers as scales.
#ifndef PENSTOCK_SUPERBLOCKS_H
#define PENSTOCK_SUPERBLOCKS_H

#include "blocks.h"

#ifdef PENSTOCK_PRODUCTS

namespace penstock {

// Byte i of each word.
inline floats byte(words x, int i) { return to_floats(reinterpret_cast<ints>(x >> 8 * i & 0xff)); }
inline floats signed_byte(words x, int i) { return to_floats(reinterpret_cast<ints>(x << (24 - 8 * i)) >> 24); }

// The first 16 bytes of Q4_K and Q5_K: two scales, then eight scales and eight minimums in six bits each. The latter's bits are spread over
// 12 bytes so that four at a time come together.
struct k_scales {
    floats d, dmin;
    words  scales[2], minimums[2]; // four each

    k_scales(const weight_rows & rows, int64_t at) {
        words h[4];
        rows.columns(at, h);
        d           = halves(h[0]);
        dmin        = -halves(h[0] >> 16);
        scales[0]   = h[1] & 0x3f3f3f3f;
        minimums[0] = h[2] & 0x3f3f3f3f;
        scales[1]   = (h[3] & low_halves) | (h[1] >> 2 & 0x30303030);
        minimums[1] = (h[3] >> 4 & low_halves) | (h[2] >> 2 & 0x30303030);
    }

    floats scale(int i) const { return d * byte(scales[i / 4], i % 4); }
    floats minimum(int i) const { return dmin * byte(minimums[i / 4], i % 4); }
};

struct q4_k {
    static constexpr int64_t size = sizeof(block_q4_K), blocks = 8;
    static constexpr int     largest = 15, offset = 0, scales = 1;
    static constexpr bool    has_minimum = true;
    static_assert(offsetof(block_q4_K, qs) == 16);

    template <typename F> PENSTOCK_INLINE static void unpack(const weight_rows & rows, int64_t at, F && take) {
        const k_scales s(rows, at);
        for (int i = 0; i < 8; i += 2, at += 32) {
            weight_block a{ {}, { s.scale(i) }, s.minimum(i) }, b{ {}, { s.scale(i + 1) }, s.minimum(i + 1) };
            for (int half = 0; half < 8; half += 4) {
                rows.columns(at + 16 + 4 * half, a.values + half);
            }
            for (int j = 0; j < 8; j++) {
                b.values[j] = a.values[j] >> 4 & low_halves;
                a.values[j] &= low_halves;
            }
            take(a, i);
            take(b, i + 1);
        }
    }
};

struct q5_k {
    static constexpr int64_t size = sizeof(block_q5_K), blocks = 8;
    static constexpr int     largest = 31, offset = 0, scales = 1;
    static constexpr bool    has_minimum = true;
    static_assert(offsetof(block_q5_K, qh) == 16 && offsetof(block_q5_K, qs) == 48);

    template <typename F> PENSTOCK_INLINE static void unpack(const weight_rows & rows, int64_t at, F && take) {
        const k_scales s(rows, at);
        words high[8]; // bit i of a byte is the highest of a value in block i
        rows.columns(at + 16, high);
        rows.columns(at + 32, high + 4);
        for (int i = 0; i < 8; i += 2, at += 32) {
            weight_block a{ {}, { s.scale(i) }, s.minimum(i) }, b{ {}, { s.scale(i + 1) }, s.minimum(i + 1) };
            rows.columns(at + 48, a.values);
            rows.columns(at + 64, a.values + 4);
            for (int j = 0; j < 8; j++) {
                b.values[j] = (a.values[j] >> 4 & low_halves) | (high[j] >> (i + 1) & 0x01010101) << 4;
                a.values[j] = (a.values[j] & low_halves) | (high[j] >> i & 0x01010101) << 4;
            }
            take(a, i);
            take(b, i + 1);
        }
    }
};

struct q6_k {
    static constexpr int64_t size = sizeof(block_q6_K), blocks = 8;
    static constexpr int     largest = 63, offset = 32, scales = 2;
    static constexpr bool    has_minimum = false;
    static_assert(offsetof(block_q6_K, qh) == 128 && offsetof(block_q6_K, scales) == 192 && offsetof(block_q6_K, d) == 208 && size == 210);

    template <typename F> PENSTOCK_INLINE static void unpack(const weight_rows & rows, int64_t at, F && take) {
        words s[4], last[4]; // 16 scales; their own is the upper half of the last word
        rows.columns(at + 192, s);
        rows.columns(at + 194, last);
        const floats d = halves(last[3] >> 16);
        for (int i = 0; i < 8; i += 4) {
            words high[8];
            rows.columns(at + 128 + 8 * i, high);
            rows.columns(at + 144 + 8 * i, high + 4);
            pair<0>(rows, at, i, high, d, s + i / 2, take);
            pair<1>(rows, at, i, high, d, s + i / 2, take);
        }
    }

    // Blocks i+k and i+k+2, whose lower four bits share bytes. Of bytes of `high` each block has two bits.
    template <int k, typename F>
    PENSTOCK_INLINE static void pair(const weight_rows & rows, int64_t at, int i, const words * high, floats d, const words * s, F && take) {
        weight_block a{ {}, { d * signed_byte(s[0], 2 * k), d * signed_byte(s[0], 2 * k + 1) }, {} };
        weight_block b{ {}, { d * signed_byte(s[1], 2 * k), d * signed_byte(s[1], 2 * k + 1) }, {} };
        rows.columns(at + 16 * i + 32 * k, a.values);
        rows.columns(at + 16 * i + 32 * k + 16, a.values + 4);
        for (int j = 0; j < 8; j++) {
            b.values[j] = (a.values[j] >> 4 & low_halves) | (high[j] >> 2 * k & 0x30303030);
            a.values[j] = (a.values[j] & low_halves) | ((k ? high[j] << 2 : high[j] << 4) & 0x30303030);
        }
        take(a, i + k);
        take(b, i + k + 2);
    }
};

struct iq4_xs {
    static constexpr int64_t size = sizeof(block_iq4_xs), blocks = 8;
    static constexpr int     largest = full_bytes, offset = full_offset, scales = 1;
    static constexpr bool    has_minimum = false;
    static_assert(offsetof(block_iq4_xs, qs) == 8);

    template <typename F> PENSTOCK_INLINE static void unpack(const weight_rows & rows, int64_t at, F && take) {
        words h[4]; // the scale, then the upper two bits of eight, then their lower four bits
        rows.columns(at, h);
        const floats d     = halves(h[0]);
        const words  upper = h[0] >> 16, lower = h[1];
        for (int i = 0; i < 8; i++, at += 16) {
            const words s = (lower >> 4 * i & 15) | (upper >> 2 * i & 3) << 4;
            weight_block w{ {}, { d * to_floats(reinterpret_cast<ints>(s) - 32) }, {} };
            four_bits(rows, at + 8, w.values);
            look_up(iq4_table, w.values);
            take(w, i);
        }
    }
};

} // namespace penstock

#endif
#endif
