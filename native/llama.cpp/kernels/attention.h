// SPDX-License-Identifier: MIT
// What an attention operation is, which cells its tokens may see, and how it is divided into units of work.
#ifndef PENSTOCK_ATTENTION_H
#define PENSTOCK_ATTENTION_H

#include "ggml-impl.h"
#include "vector.h"

#include <algorithm>
#include <cstdint>

namespace penstock {

constexpr int64_t tile_cells = 64; // KV cells that are computed with at a time, and bits of a word
constexpr int64_t most_rows  = 96; // query rows of a unit of work, so that their sums stay in the core's own cache
constexpr int64_t few_rows   = 8;  // below this, converting keys costs more than computing with them: units are not divided further

// One operation. Shapes (innermost first): q [head_dim_k, tokens, n_heads, streams], k [head_dim_k, cells, n_kv_heads, streams],
// v [head_dim_v, cells, n_kv_heads, streams], mask [cells, tokens, 1, streams], out [head_dim_v, n_heads, tokens, streams].
struct attention {
    const ggml_tensor *q, *k, *v, *mask;
    ggml_tensor *      out;
    int64_t            head_dim_k, head_dim_v, n_heads, n_kv_heads, tokens, cells, streams;
    int64_t            heads_per_kv; // query heads that share a KV head
    int64_t            words;        // of 64 bits, one bit for each cell
    int64_t            v_panels;     // that hold the values of a cell
    float              scale;

    explicit attention(const ggml_tensor * op)
        : q(op->src[0]), k(op->src[1]), v(op->src[2]), mask(op->src[3]), out(const_cast<ggml_tensor *>(op)),
          head_dim_k(k->ne[0]), head_dim_v(v->ne[0]), n_heads(q->ne[2]), n_kv_heads(k->ne[2]), tokens(q->ne[1]), cells(k->ne[1]),
          streams(q->ne[3]), heads_per_kv(n_heads / n_kv_heads), words((cells + tile_cells - 1) / tile_cells),
          v_panels((head_dim_v + panel_width - 1) / panel_width), scale(ggml_get_op_params_f32(op, 0)) {}

    int64_t all_tokens() const { return tokens * streams; } // token t of stream s has the number s*tokens + t
    int64_t most_tokens() const { return std::min(tokens, std::max<int64_t>(1, most_rows / heads_per_kv)); } // of a unit of work
};

inline const char * at(const ggml_tensor * t, int64_t i1, int64_t i2, int64_t i3) {
    return static_cast<const char *>(t->data) + i1 * t->nb[1] + i2 * t->nb[2] + i3 * t->nb[3];
}

// Which cells each token may see, a bit for each. The threads fill it together, then all read it.
struct visibility {
    const attention & a;
    uint64_t *        bits;  // a.words for each token
    uint64_t *        other; // for each thread: not 0 where it found mask values other than 0 and -Inf, which bits cannot express

    static size_t size(const attention & a, int threads) { return GGML_PAD((a.all_tokens() * a.words + threads) * sizeof(uint64_t), 64); }

    visibility(const attention & op, char * memory)
        : a(op), bits(reinterpret_cast<uint64_t *>(memory)), other(bits + op.all_tokens() * op.words) {}

    const uint64_t * of(int64_t t) const { return bits + t * a.words; }

    // Reads thread i's part of the mask.
    void fill(int i, int threads) const {
        other[i] = 0;
        for (int64_t t = i; t < a.all_tokens(); t += threads) {
            const auto * mask = a.mask ? reinterpret_cast<const uint16_t *>(at(a.mask, t % a.tokens, 0, t / a.tokens % a.mask->ne[3])) : nullptr;
            for (int64_t w = 0; w < a.words; w++) {
                const int64_t n = std::min(tile_cells, a.cells - w * tile_cells);
                bits[t * a.words + w] = mask ? visible(mask + w * tile_cells, n, other[i]) : ~uint64_t(0) >> (tile_cells - n);
            }
        }
    }

    bool is_exact(int threads) const {
        return std::all_of(other, other + threads, [](uint64_t o) { return o == 0; });
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

    // Whether a token is of the same sequence as the one before it: it sees all that that one does. With a sliding window it has lost one
    // cell, the oldest. Sequences with a common prefix differ by one cell too, but that is the newest, which the token before has added.
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

// The units of work: tokens [first[i], first[i+1]) of one sequence, for each KV head. Each thread computes the same plan for itself.
struct work_plan {
    int32_t * first;
    int64_t   units = 0;

    static int64_t size(const attention & a) { return GGML_PAD((a.all_tokens() + 1) * sizeof(int32_t), 64); }

    work_plan(const attention & a, const visibility & visible, int threads, char * memory) : first(reinterpret_cast<int32_t *>(memory)) {
        int64_t longest = 0, in_runs = 0; // tokens of the longest run of one sequence, and of all runs of more than one
        for (int64_t t = 0, run = 0; t < a.all_tokens(); t++) {
            first[t] = visible.continues(t); // for now: whether it does
            run      = first[t] ? run + 1 : 1;
            in_runs += run == 2 ? 2 : run > 2 ? 1 : 0;
            longest = std::max(longest, run);
        }
        const int64_t per_unit = tokens_per_unit(a, longest, in_runs, threads);
        for (int64_t t = 0, begun = 0; t < a.all_tokens(); t++) {
            if (!first[t] || t - begun == per_unit) {
                begun          = t;
                first[units++] = static_cast<int32_t>(t);
            }
        }
        first[units] = static_cast<int32_t>(a.all_tokens());
    }

    // As many as the cache holds, fewer where the threads would have unequal work.
    static int64_t tokens_per_unit(const attention & a, int64_t longest, int64_t in_runs, int threads) {
        int64_t n     = std::min(longest, a.most_tokens());
        auto    units = [&] { return a.n_kv_heads * ((in_runs + n - 1) / n); };
        while (units() % threads != 0 && units() < 4 * threads && n > 1 && n * a.heads_per_kv > few_rows) {
            n = (n + 1) / 2;
        }
        return n;
    }
};

} // namespace penstock

#endif
