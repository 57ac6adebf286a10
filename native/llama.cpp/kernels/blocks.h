// SPDX-License-Identifier: MIT
// The formats whose blocks have 32 values and a scale of their own.
#ifndef PENSTOCK_BLOCKS_H
#define PENSTOCK_BLOCKS_H

#include "product.h"

#ifdef PENSTOCK_PRODUCTS

#define GGML_COMMON_DECL_CPP
#include "ggml-common.h"

#include <cstddef>

namespace penstock {

constexpr uint32_t low_halves = 0x0f0f0f0f; // of bytes

// 32 values of four bits: a byte has value i in its lower half and value i+16 in its upper half.
inline void four_bits(group_block & in, words * to) {
    for (int i = 0; i < 4; i++) {
        to[i]     = in.word();
        to[i + 4] = to[i] >> 4 & low_halves;
        to[i] &= low_halves;
    }
}

// Adds the fifth bits of 32 values. The product moves bit i of four to byte i.
inline void add_fifth_bits(words bits, words * to) {
    for (int i = 0; i < 8; i++) {
        to[i] |= (bits >> 4 * i & 15) * (0x00204081u << 4) & 0x10101010u;
    }
}

// Weights that are indices into a table, with an offset.
template <int offset, int... values> constexpr uint8_t table[] = { static_cast<uint8_t>(values + offset)... };
inline constexpr auto & iq4_table = table<full_offset, -127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113>;

inline void look_up(const uint8_t * in, words * values) {
    for (int i = 0; i < 8; i++) {
        values[i] = lookup(in, values[i]);
    }
}

struct q4_0 {
    static constexpr int64_t size = sizeof(block_q4_0), blocks = 1;
    static constexpr int     largest = 15, offset = 8, scales = 1;
    static constexpr bool    has_minimum = false;
    static constexpr piece   pieces[] = { { 0, 2, 2 }, { 2, size - 2, 4 } };
    static_assert(offsetof(block_q4_0, qs) == 2);

    template <typename F> PENSTOCK_INLINE static void unpack(group_block in, F && take) {
        weight_block w{ {}, { in.halves() }, {} };
        four_bits(in, w.values);
        take(w, 0);
    }
};

struct q4_1 {
    static constexpr int64_t size = sizeof(block_q4_1), blocks = 1;
    static constexpr int     largest = 15, offset = 0, scales = 1;
    static constexpr bool    has_minimum = true;
    static constexpr piece   pieces[] = { { 0, 4, 2 }, { 4, size - 4, 4 } };
    static_assert(offsetof(block_q4_1, qs) == 4);

    template <typename F> PENSTOCK_INLINE static void unpack(group_block in, F && take) {
        weight_block w{ {}, { in.halves() }, in.halves() };
        four_bits(in, w.values);
        take(w, 0);
    }
};

struct q5_0 {
    static constexpr int64_t size = sizeof(block_q5_0), blocks = 1;
    static constexpr int     largest = 31, offset = 16, scales = 1;
    static constexpr bool    has_minimum = false;
    static constexpr piece   pieces[] = { { 0, 2, 2 }, { 2, size - 2, 4 } };
    static_assert(offsetof(block_q5_0, qh) == 2 && offsetof(block_q5_0, qs) == 6);

    template <typename F> PENSTOCK_INLINE static void unpack(group_block in, F && take) {
        weight_block w{ {}, { in.halves() }, {} };
        const words bits = in.word();
        four_bits(in, w.values);
        add_fifth_bits(bits, w.values);
        take(w, 0);
    }
};

struct q5_1 {
    static constexpr int64_t size = sizeof(block_q5_1), blocks = 1;
    static constexpr int     largest = 31, offset = 0, scales = 1;
    static constexpr bool    has_minimum = true;
    static constexpr piece   pieces[] = { { 0, 4, 2 }, { 4, size - 4, 4 } };
    static_assert(offsetof(block_q5_1, qh) == 4 && offsetof(block_q5_1, qs) == 8);

    template <typename F> PENSTOCK_INLINE static void unpack(group_block in, F && take) {
        weight_block w{ {}, { in.halves() }, in.halves() };
        const words bits = in.word();
        four_bits(in, w.values);
        add_fifth_bits(bits, w.values);
        take(w, 0);
    }
};

struct q8_0 {
    static constexpr int64_t size = sizeof(block_q8_0), blocks = 1;
    static constexpr int     largest = full_bytes, offset = full_offset, scales = 1;
    static constexpr bool    has_minimum = false;
    static constexpr piece   pieces[] = { { 0, 2, 2 }, { 2, size - 2, 4 } };
    static_assert(offsetof(block_q8_0, qs) == 2);

    template <typename F> PENSTOCK_INLINE static void unpack(group_block in, F && take) {
        weight_block w{ {}, { in.halves() }, {} };
        in.get(w.values);
        for (auto & four : w.values) {
            four ^= full_offset * 0x01010101u; // 128 added flips the sign bit
        }
        take(w, 0);
    }
};

struct iq4_nl {
    static constexpr int64_t size = sizeof(block_iq4_nl), blocks = 1;
    static constexpr int     largest = full_bytes, offset = full_offset, scales = 1;
    static constexpr bool    has_minimum = false;
    static constexpr piece   pieces[] = { { 0, 2, 2 }, { 2, size - 2, 4 } };
    static_assert(offsetof(block_iq4_nl, qs) == 2);

    template <typename F> PENSTOCK_INLINE static void unpack(group_block in, F && take) {
        weight_block w{ {}, { in.halves() }, {} };
        four_bits(in, w.values);
        look_up(iq4_table, w.values);
        take(w, 0);
    }
};

// Floats of four bits, doubled to be whole, and a power of two.
struct mxfp4 {
    static constexpr int64_t size = sizeof(block_mxfp4), blocks = 1;
    static constexpr int     largest = 24, offset = 12, scales = 1;
    static constexpr bool    has_minimum = false;
    static constexpr piece   pieces[] = { { 0, 1, 1 }, { 1, size - 1, 4 } };
    static_assert(offsetof(block_mxfp4, e) == 0 && offsetof(block_mxfp4, qs) == 1);

    template <typename F> PENSTOCK_INLINE static void unpack(group_block in, F && take) {
        const words e     = in.bytes();
        const words power = e < 2 ? (words{} + 0x00200000) << e : (e - 1) << 23; // half of it; the smallest two have no exponent
        weight_block w{ {}, { reinterpret_cast<floats>(power) }, {} };
        four_bits(in, w.values);
        look_up(table<offset, 0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12>, w.values);
        take(w, 0);
    }
};

} // namespace penstock

#endif
#endif
