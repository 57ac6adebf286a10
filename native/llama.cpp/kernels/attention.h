// SPDX-License-Identifier: MIT
// What an attention operation is, and which cells its tokens may see.
#ifndef PENSTOCK_ATTENTION_H
#define PENSTOCK_ATTENTION_H

#include "attention_quant.h"
#include "ggml-impl.h"
#include "vector.h"

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace penstock {

constexpr int64_t tile_cells = 64; // KV cells that are computed with at a time, and bits of a word
constexpr int64_t most_rows  = 96; // query rows of a unit of work, so that their sums stay in the core's own cache
constexpr float   log2_e     = 1.44269504f;

// How long a row of so many numbers is where it fills whole vectors on every CPU.
inline int64_t padded(int64_t width) { return GGML_PAD(width, 16); }

// One operation. Shapes (innermost first): q [head_dim_k, tokens, n_heads, streams], k [head_dim_k,
// cells, n_kv_heads, streams], v [head_dim_v, cells, n_kv_heads, streams], mask [cells, tokens, 1,
// streams], sinks [n_heads], out [head_dim_v, n_heads, tokens, streams].
struct attention {
    const ggml_tensor *q, *k, *v, *mask, *sinks;
    ggml_tensor *      out;
    int64_t            head_dim_k, head_dim_v, n_heads, n_kv_heads, tokens, cells, streams;
    int64_t            heads_per_kv; // query heads that share a KV head
    int64_t            words;        // of 64 bits, one bit for each cell
    int64_t            v_panels;     // that hold the values of a cell
    float              scale, max_bias, soft_cap;
    const quantised_keys * quantised; // how scores of the keys are computed; null: as floats

    explicit attention(const ggml_tensor * op)
        : q(op->src[0]), k(op->src[1]), v(op->src[2]), mask(op->src[3]), sinks(op->src[4]), out(const_cast<ggml_tensor *>(op)),
          head_dim_k(k->ne[0]), head_dim_v(v->ne[0]), n_heads(q->ne[2]), n_kv_heads(k->ne[2]), tokens(q->ne[1]), cells(k->ne[1]),
          streams(q->ne[3]), heads_per_kv(n_heads / n_kv_heads), words((cells + tile_cells - 1) / tile_cells),
          v_panels((head_dim_v + panel_width - 1) / panel_width), scale(ggml_get_op_params_f32(op, 0)),
          max_bias(ggml_get_op_params_f32(op, 1)), soft_cap(ggml_get_op_params_f32(op, 2)), quantised(quantised_keys_of(k->type)) {}

    int64_t all_tokens() const { return tokens * streams; } // token t of stream s has the number s*tokens + t
    int64_t most_tokens() const { return std::min(tokens, std::max<int64_t>(1, most_rows / heads_per_kv)); } // of a unit of work
    int64_t k_width() const { return padded(head_dim_k); }
    int64_t v_width() const { return v_panels * panel_width; }

    // What a head's mask is multiplied with (ALiBi): powers of one number for as many heads as the
    // largest power of two among them, and of its root, those that lie between, for the rest.
    float slope(int64_t head) const {
        const auto regular = static_cast<int64_t>(1) << static_cast<int>(std::log2(static_cast<double>(n_heads)));
        if (max_bias <= 0) {
            return 1;
        }
        return head < regular ? std::exp2(-max_bias / static_cast<float>(regular) * static_cast<float>(head + 1)) :
                                std::exp2(-max_bias / 2 / static_cast<float>(regular) * static_cast<float>(2 * (head - regular) + 1));
    }
};

inline const char * at(const ggml_tensor * t, int64_t i1, int64_t i2, int64_t i3) {
    return static_cast<const char *>(t->data) + i1 * t->nb[1] + i2 * t->nb[2] + i3 * t->nb[3];
}

// Which cells each token may see, a bit for each. The threads fill it together, then all read it.
struct visibility {
    const attention & a;
    uint64_t *        bits;  // a.words for each token
    uint64_t *        other; // for each thread: not 0 where it found mask values other than 0 and -Inf

    static size_t size(const attention & a, int threads) { return GGML_PAD((a.all_tokens() * a.words + threads) * sizeof(uint64_t), 64); }

    visibility(const attention & op, char * memory)
        : a(op), bits(reinterpret_cast<uint64_t *>(memory)), other(bits + op.all_tokens() * op.words) {}

    const uint64_t * of(int64_t t) const { return bits + t * a.words; }

    // Reads thread i's part of the mask.
    void fill(int i, int threads) const {
        other[i] = 0;
        for (int64_t t = i; t < a.all_tokens(); t += threads) {
            const uint16_t * mask = a.mask ? mask_of(t) : nullptr;
            for (int64_t w = 0; w < a.words; w++) {
                const int64_t n = std::min(tile_cells, a.cells - w * tile_cells);
                bits[t * a.words + w] = mask ? visible(mask + w * tile_cells, n, other[i]) : ~uint64_t(0) >> (tile_cells - n);
            }
        }
    }

    // Whether the mask adds something to scores.
    bool adds(int threads) const {
        return std::any_of(other, other + threads, [](uint64_t o) { return o != 0; });
    }

    const uint16_t * mask_of(int64_t t) const {
        return reinterpret_cast<const uint16_t *>(at(a.mask, t % a.tokens, 0, t / a.tokens % a.mask->ne[3]));
    }

    uint64_t of_any(int64_t t, int64_t n, int64_t word) const { // cells that one of n tokens from t on sees
        uint64_t all = 0;
        for (int64_t i = 0; i < n; i++) {
            all |= of(t + i)[word];
        }
        return all;
    }

    int count_only(int64_t t, int64_t u) const { // cells that token t sees and token u does not
        int count = 0;
        for (int64_t w = 0; w < a.words; w++) {
            count += __builtin_popcountll(of(t)[w] & ~of(u)[w]);
        }
        return count;
    }

    bool sees_nothing(int64_t t) const {
        return std::all_of(of(t), of(t) + a.words, [](uint64_t word) { return word == 0; });
    }

    // Whether a token is of the same sequence as the one before it: it sees all that that one does.
    // With a sliding window it has lost one cell, the oldest. Sequences with a common prefix differ
    // by one cell too, but that is the newest, which the token before has added.
    bool continues(int64_t t) const {
        const int64_t in_stream = t % a.tokens;
        if (in_stream == 0 || sees_nothing(t - 1)) {
            return false;
        }
        const int lost = count_only(t - 1, t);
        return lost == 0 || (lost == 1 && in_stream > 1 && count_only(t - 2, t - 1) <= 1 && sees_newest(t));
    }

    bool sees_newest(int64_t t) const { // token t sees all that token t-1 sees and t-2 does not
        for (int64_t w = 0; w < a.words; w++) {
            if (of(t - 1)[w] & ~of(t - 2)[w] & ~of(t)[w]) {
                return false;
            }
        }
        return true;
    }
};

} // namespace penstock

#endif
