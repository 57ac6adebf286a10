// SPDX-License-Identifier: MIT
#include "attention_quant.h"

#include "blocks.h"

#ifdef PENSTOCK_PRODUCTS

namespace {

using namespace penstock;

template <typename Format> struct keys_of {
    static constexpr int64_t most_rows = 96; // that keys are unpacked for

    // The blocks of all queries lie side by side: the first of each, then the second of each.
    static void quantise(const float * queries, int64_t width, int64_t rows, char * to) {
        auto * const blocks = reinterpret_cast<input_block *>(to);
        for (int64_t r = 0; r < rows; r++) {
            for (int64_t i = 0; i < width / block_values; i++) {
                blocks[i * rows + r].quantise<Format>(queries + r * width + i * block_values);
            }
        }
    }

    static void score(const char * const * keys, const char * const * ahead, int64_t n, int64_t width, const char * queries, int64_t rows, float * to,
                      int64_t to_width) {
        const auto * const blocks = reinterpret_cast<const input_block *>(queries);
        for (int64_t c = 0; c < n; c += lanes) {
            for (int64_t first = 0; first < rows; first += most_rows) {
                const int64_t some = std::min(most_rows, rows - first);
                floats        sums[most_rows];
                std::fill_n(sums, some, floats{});
                for (int64_t i = 0; i < width / block_values; i++) {
                    alignas(64) char memory[lanes * Format::size];
                    lay_out<Format>(keys + c, i * Format::size, memory);
                    for (int64_t k = c; k < c + lanes; k++) {
                        __builtin_prefetch(ahead[k] + i * Format::size, 0, 2);
                        __builtin_prefetch(ahead[k] + (i + 1) * Format::size - 1, 0, 2);
                    }
                    Format::unpack(group_block{ memory }, [&](const weight_block & w, int64_t) __attribute__((always_inline)) {
                        const input_block * x = blocks + i * rows + first;
                        for (int64_t r = 0; r < some; r++) {
                            sums[r] = w.template times<Format>(x[r], sums[r]);
                        }
                    });
                }
                for (int64_t r = 0; r < some; r++) {
                    memcpy(to + (first + r) * to_width + c, sums + r, sizeof(sums[r]));
                }
            }
        }
    }

    static constexpr quantised_keys entry{ sizeof(input_block), quantise, score };
};

} // namespace

const penstock::quantised_keys * penstock::quantised_keys_of(ggml_type type) {
    switch (type) {
        case GGML_TYPE_Q4_0:   return &keys_of<q4_0>::entry;
        case GGML_TYPE_Q4_1:   return &keys_of<q4_1>::entry;
        case GGML_TYPE_Q5_0:   return &keys_of<q5_0>::entry;
        case GGML_TYPE_Q5_1:   return &keys_of<q5_1>::entry;
        case GGML_TYPE_Q8_0:   return &keys_of<q8_0>::entry;
        case GGML_TYPE_IQ4_NL: return &keys_of<iq4_nl>::entry;
        default:               return nullptr;
    }
}

#else

const penstock::quantised_keys * penstock::quantised_keys_of(ggml_type) { return nullptr; }

#endif
