// SPDX-License-Identifier: MIT
// The formats whose blocks have 256 values, in 32s or 16s with small whole numbers as scales.
#ifndef PENSTOCK_SUPERBLOCKS_H
#define PENSTOCK_SUPERBLOCKS_H

#include "blocks.h"

#ifdef PENSTOCK_PRODUCTS

namespace penstock {

// Byte i of each word.
inline floats byte(words x, int i) { return to_floats(reinterpret_cast<ints>(x >> 8 * i & 0xff)); }

// The first 16 bytes of Q4_K and Q5_K: two scales, then eight scales and eight minimums in six bits
// each. The latter's bits are spread over 12 bytes so that four at a time come together.
struct k_scales {
    floats d, dmin;
    words  scales[2], minimums[2]; // four each

    explicit k_scales(group_block & in) : d(in.halves()), dmin(-in.halves()) {
        words h[3];
        in.get(h);
        scales[0]   = h[0] & 0x3f3f3f3f;
        minimums[0] = h[1] & 0x3f3f3f3f;
        scales[1]   = (h[2] & low_halves) | (h[0] >> 2 & 0x30303030);
        minimums[1] = (h[2] >> 4 & low_halves) | (h[1] >> 2 & 0x30303030);
    }

    floats scale(int i) const { return d * byte(scales[i / 4], i % 4); }
    floats minimum(int i) const { return dmin * byte(minimums[i / 4], i % 4); }
};

struct q4_k {
    static constexpr int64_t size = sizeof(block_q4_K), blocks = 8;
    static constexpr int     largest = 15, offset = 0, scales = 1;
    static constexpr bool    has_minimum = true;
    static constexpr piece   pieces[] = { { 0, 4, 2 }, { 4, size - 4, 4 } };
    static_assert(offsetof(block_q4_K, qs) == 16);

    template <typename F> PENSTOCK_INLINE static void unpack(group_block in, F && take) {
        const k_scales s(in);
        for (int i = 0; i < 8; i += 2) {
            weight_block a{ {}, { s.scale(i) }, s.minimum(i) }, b{ {}, { s.scale(i + 1) }, s.minimum(i + 1) };
            in.get(a.values);
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
    static constexpr piece   pieces[] = { { 0, 4, 2 }, { 4, size - 4, 4 } };
    static_assert(offsetof(block_q5_K, qh) == 16 && offsetof(block_q5_K, qs) == 48);

    template <typename F> PENSTOCK_INLINE static void unpack(group_block in, F && take) {
        const k_scales s(in);
        words high[8]; // bit i of a byte is the highest of a value in block i
        in.get(high);
        for (int i = 0; i < 8; i += 2) {
            weight_block a{ {}, { s.scale(i) }, s.minimum(i) }, b{ {}, { s.scale(i + 1) }, s.minimum(i + 1) };
            in.get(a.values);
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
    static constexpr piece   pieces[] = { { 208, 2, 2 }, { 192, 8, 1 }, { 128, 32, 4 }, { 0, 64, 4 }, { 200, 8, 1 }, { 160, 32, 4 }, { 64, 64, 4 } };
    static_assert(offsetof(block_q6_K, qh) == 128 && offsetof(block_q6_K, scales) == 192 && offsetof(block_q6_K, d) == 208 && size == 210);

    template <typename F> PENSTOCK_INLINE static void unpack(group_block in, F && take) {
        const floats d = in.halves();
        for (int i = 0; i < 8; i += 4) {
            floats scale[8];
            for (floats & s : scale) {
                s = d * in.signed_bytes();
            }
            words high[8];
            in.get(high);
            pair<0>(in, i, high, scale, take);
            pair<1>(in, i, high, scale, take);
        }
    }

    // Blocks i+k and i+k+2, whose lower four bits share bytes. Of bytes of `high` each block has
    // two bits.
    template <int k, typename F> PENSTOCK_INLINE static void pair(group_block & in, int i, const words * high, const floats * scale, F && take) {
        weight_block a{ {}, { scale[2 * k], scale[2 * k + 1] }, {} }, b{ {}, { scale[2 * k + 4], scale[2 * k + 5] }, {} };
        in.get(a.values);
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
    static constexpr piece   pieces[] = { { 0, 4, 2 }, { 4, size - 4, 4 } };
    static_assert(offsetof(block_iq4_xs, qs) == 8);

    template <typename F> PENSTOCK_INLINE static void unpack(group_block in, F && take) {
        const floats d     = in.halves();
        const words  upper = in.shorts(), lower = in.word(); // two bits of each of eight scales, and four
        for (int i = 0; i < 8; i++) {
            const words s = (lower >> 4 * i & 15) | (upper >> 2 * i & 3) << 4;
            weight_block w{ {}, { d * to_floats(reinterpret_cast<ints>(s) - 32) }, {} };
            four_bits(in, w.values);
            look_up(iq4_table, w.values);
            take(w, i);
        }
    }
};

} // namespace penstock

#endif
#endif
