// SPDX-License-Identifier: MIT
// What an attention operation is, which cells its rows may see, and how they are divided into units of work.
#ifndef PENSTOCK_ATTENTION_H
#define PENSTOCK_ATTENTION_H

#include "ggml-impl.h"
#include "vector.h"

#include <algorithm>
#include <cstdint>

namespace penstock {

constexpr int64_t tile_cells = 64; // KV cells that are worked on at a time, and bits of a word
constexpr int64_t most_rows  = 96; // query rows of a unit of work, so that their sums stay in the core's own cache
constexpr int64_t few_rows   = 8;  // below this, converting keys costs more than computing with them: units are not divided further
constexpr int64_t part       = columns * lanes; // of a value that is summed at a time

// One operation, by the names of its dimensions. Shapes (innermost first): q [key, tokens, heads, streams],
// k [key, cells, groups, streams], v [value, cells, groups, streams], mask [cells, tokens, 1, streams], out [value, heads, tokens, streams].
struct attention {
    const ggml_tensor *q, *k, *v, *mask;
    ggml_tensor *      out;
    int64_t            key, value, tokens, cells, groups, shared, streams, words, parts;
    float              scale;

    explicit attention(const ggml_tensor * op)
        : q(op->src[0]), k(op->src[1]), v(op->src[2]), mask(op->src[3]), out(const_cast<ggml_tensor *>(op)),
          key(k->ne[0]), value(v->ne[0]), tokens(q->ne[1]), cells(k->ne[1]), groups(k->ne[2]),
          shared(q->ne[2] / k->ne[2]), streams(q->ne[3]), words((cells + tile_cells - 1) / tile_cells),
          parts((value + part - 1) / part), scale(ggml_get_op_params_f32(op, 0)) {}

    int64_t rows() const { return tokens * streams; } // tokens of all streams; number t of stream s is row s*tokens + t
    int64_t most_tokens() const { return std::min(tokens, std::max<int64_t>(1, most_rows / shared)); }
};

inline const char * at(const ggml_tensor * t, int64_t i1, int64_t i2, int64_t i3) {
    return static_cast<const char *>(t->data) + i1 * t->nb[1] + i2 * t->nb[2] + i3 * t->nb[3];
}

// Which cells each row may look at, a bit for each. The threads fill it together, then all read it.
struct sight {
    const attention & a;
    uint64_t *        bits; // words for each row
    uint64_t *        odd;  // for each thread: not 0 where it saw a mask with other values than 0 and -Inf, which bits do not tell

    static size_t size(const attention & a, int threads) { return GGML_PAD((a.rows() * a.words + threads) * sizeof(uint64_t), 64); }

    sight(const attention & op, char * memory) : a(op), bits(reinterpret_cast<uint64_t *>(memory)), odd(bits + op.rows() * op.words) {}

    const uint64_t * row(int64_t r) const { return bits + r * a.words; }

    // Thread i's part.
    void look(int i, int threads) const {
        odd[i] = 0;
        for (int64_t r = i; r < a.rows(); r += threads) {
            const auto * mask = a.mask ? reinterpret_cast<const uint16_t *>(at(a.mask, r % a.tokens, 0, r / a.tokens % a.mask->ne[3])) : nullptr;
            for (int64_t w = 0; w < a.words; w++) {
                const int64_t n = std::min(tile_cells, a.cells - w * tile_cells);
                bits[r * a.words + w] = mask ? allowed(mask + w * tile_cells, n, odd[i]) : ~uint64_t(0) >> (tile_cells - n);
            }
        }
    }

    bool understood(int threads) const {
        return std::all_of(odd, odd + threads, [](uint64_t o) { return o == 0; });
    }

    int only(int64_t r, int64_t other) const { // cells that a row sees and another does not
        int count = 0;
        for (int64_t w = 0; w < a.words; w++) {
            count += __builtin_popcountll(row(r)[w] & ~row(other)[w]);
        }
        return count;
    }

    bool blind(int64_t r) const {
        return std::all_of(row(r), row(r) + a.words, [](uint64_t word) { return word == 0; });
    }

    // Whether a row is of the same sequence as the one before it: it sees all that that one does. Under a window it lost one cell,
    // the oldest; sequences with a common beginning differ by one cell too, but that is the newest, which came with the row before.
    bool follows(int64_t r) const {
        const int64_t token = r % a.tokens;
        if (token == 0 || blind(r - 1)) {
            return false;
        }
        const int lost = only(r - 1, r);
        return lost == 0 || (lost == 1 && token > 1 && only(r - 2, r - 1) <= 1 && kept(r));
    }

    bool kept(int64_t r) const { // of what row r-1 sees and r-2 did not, row r sees all
        for (int64_t w = 0; w < a.words; w++) {
            if (row(r - 1)[w] & ~row(r - 2)[w] & ~row(r)[w]) {
                return false;
            }
        }
        return true;
    }
};

// Units of work: rows [first[i], first[i+1]), which follow one another. Each thread makes the same ones for itself.
struct plan {
    int32_t * first;
    int64_t   units = 0;

    static int64_t size(const attention & a) { return GGML_PAD((a.rows() + 1) * sizeof(int32_t), 64); }

    plan(const attention & a, const sight & s, int threads, char * memory) : first(reinterpret_cast<int32_t *>(memory)) {
        int64_t longest = 0, many = 0; // tokens of the longest run, and of all runs of more than one
        for (int64_t r = 0, run = 0; r < a.rows(); r++) {
            first[r] = s.follows(r); // for now: whether it does
            run      = first[r] ? run + 1 : 1;
            many += run == 2 ? 2 : run > 2 ? 1 : 0;
            longest = std::max(longest, run);
        }
        const int64_t each = tokens_each(a, longest, many, threads);
        for (int64_t r = 0, begun = 0; r < a.rows(); r++) {
            if (!first[r] || r - begun == each) {
                begun          = r;
                first[units++] = static_cast<int32_t>(r);
            }
        }
        first[units] = static_cast<int32_t>(a.rows());
    }

    // Tokens of a unit: as many as the cache holds, fewer where the threads would have unequal work.
    static int64_t tokens_each(const attention & a, int64_t longest, int64_t many, int threads) {
        int64_t each  = std::min(longest, a.most_tokens());
        auto    units = [&] { return a.groups * ((many + each - 1) / each); };
        while (units() % threads != 0 && units() < 4 * threads && each > 1 && each * a.shared > few_rows) {
            each = (each + 1) / 2;
        }
        return each;
    }
};

} // namespace penstock

#endif
