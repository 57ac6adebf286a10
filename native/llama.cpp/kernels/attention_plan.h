// SPDX-License-Identifier: MIT
// How an attention operation is divided into units of work, and those into pieces where there are
// few.
#ifndef PENSTOCK_ATTENTION_PLAN_H
#define PENSTOCK_ATTENTION_PLAN_H

#include "attention.h"

namespace penstock {

// The cells of a token are summed by chunks: each by itself, and then these sums one after the
// other. So the chunks of a long sequence may be computed by several threads, and the result is the
// same to the bit whether they are.
constexpr int64_t chunk_cells = 512;
static_assert(chunk_cells % tile_cells == 0, "all tiles of a chunk but the last are full");

constexpr int64_t few_rows = 8;               // below this, converting keys costs more than computing with them: units are not divided further
constexpr size_t  most_for_chunks = 32 << 20; // bytes for the sums of single chunks

// Sums of some query rows, over some of their cells.
struct row_sums {
    float *  sum;   // [row][width]: weighted values
    floats * total; // [row]: of weights, by lane
    float *  base;  // [row]: weights are 2^(score - base)

    static int64_t size(int64_t rows, int64_t width) { return GGML_PAD(rows * (width + lanes + 1) * sizeof(float), 64); }

    row_sums(char * memory, int64_t rows, int64_t width)
        : sum(reinterpret_cast<float *>(memory)), total(reinterpret_cast<floats *>(sum + rows * width)),
          base(sum + rows * (width + lanes)) {}

    void clear(int64_t rows, int64_t width) {
        std::fill_n(sum, rows * (width + lanes), 0.0f);
        std::fill_n(base, rows, -INFINITY);
    }

    // Bases are whole numbers, so that scaling loses nothing.
    void scale(int64_t r, int64_t width, float to_base) {
        if (base[r] == to_base) {
            return;
        }
        const float factor = std::exp2(base[r] - to_base);
        total[r] *= factor;
        for (int64_t d = 0; d < width; d++) {
            sum[r * width + d] *= factor;
        }
        base[r] = to_base;
    }

    void add(row_sums & other, int64_t rows, int64_t width) {
        for (int64_t r = 0; r < rows; r++) {
            const float higher = std::max(base[r], other.base[r]);
            scale(r, width, higher);
            other.scale(r, width, higher);
            total[r] += other.total[r];
            for (int64_t d = 0; d < width; d++) {
                sum[r * width + d] += other.sum[r * width + d];
            }
        }
    }
};

// The units of work: tokens [first[i], first[i+1]) of one sequence, for each KV head. Each thread
// computes the same plan for itself.
struct work_plan {
    int32_t * first;
    int32_t * pieces; // of all units before, for one KV head. A unit is one piece, or has a piece for each chunk of its cells
    int64_t   units = 0;

    static int64_t size(const attention & a) { return GGML_PAD(2 * (a.all_tokens() + 1) * sizeof(int32_t), 64); }

    // The sums of single chunks, of all units that may have them; 0 where that is too much.
    static size_t chunks_size(const attention & a, int threads) {
        const auto chunks = static_cast<size_t>((a.cells + chunk_cells - 1) / chunk_cells);
        const size_t bytes = a.all_tokens() * a.n_kv_heads * chunks * row_sums::size(a.heads_per_kv, a.v_width());
        return threads > 1 && chunks > 1 && bytes <= most_for_chunks ? bytes : 0;
    }

    work_plan(const attention & a, const visibility & visible, int threads, char * memory)
        : first(reinterpret_cast<int32_t *>(memory)), pieces(first + a.all_tokens() + 1) {
        const bool divisible = chunks_size(a, threads) > 0;
        int64_t longest = 0, in_runs = 0; // tokens of the longest run of one sequence, and of all runs of more than one
        int64_t most_chunks = 1;          // of a token in a run
        for (int64_t t = 0, run = 0; t < a.all_tokens(); t++) {
            first[t] = visible.continues(t); // for now: whether it does
            run      = first[t] ? run + 1 : 1;
            in_runs += run == 2 ? 2 : run > 2 ? 1 : 0;
            longest = std::max(longest, run);
            if (divisible && run > 1) {
                most_chunks = std::max(most_chunks, chunks_of(a, visible, t, 1));
            }
        }
        const int64_t per_unit = tokens_per_unit(a, longest, in_runs, most_chunks, threads);
        for (int64_t t = 0, begun = 0; t < a.all_tokens(); t++) {
            if (!first[t] || t - begun == per_unit) {
                begun          = t;
                first[units++] = static_cast<int32_t>(t);
            }
        }
        first[units] = static_cast<int32_t>(a.all_tokens());
        divide(a, visible, divisible ? threads : 1);
    }

    int64_t unit_of(int64_t piece) const { return std::upper_bound(pieces, pieces + units, piece) - pieces - 1; }
    int64_t pieces_of(int64_t unit) const { return pieces[unit + 1] - pieces[unit]; }
    int64_t all_pieces() const { return pieces[units]; }
    int64_t tokens_of(int64_t unit) const { return first[unit + 1] - first[unit]; }

  private:
    static int64_t chunks_of(const attention & a, const visibility & visible, int64_t token, int64_t tokens) {
        int64_t cells = 0;
        for (int64_t w = 0; w < a.words; w++) {
            cells += __builtin_popcountll(visible.of_any(token, tokens, w));
        }
        return std::max<int64_t>(1, (cells + chunk_cells - 1) / chunk_cells);
    }

    // As many as the cache holds, fewer where the threads would have unequal work.
    static int64_t tokens_per_unit(const attention & a, int64_t longest, int64_t in_runs, int64_t chunks, int threads) {
        int64_t n     = std::min(longest, a.most_tokens());
        auto    parts = [&] { return a.n_kv_heads * ((in_runs + n - 1) / n) * chunks; };
        while (parts() % threads != 0 && parts() < 4 * threads && n > 1 && n * a.heads_per_kv > few_rows) {
            n = (n + 1) / 2;
        }
        return n;
    }

    // Units of which a thread would have fewer than four are computed piece by piece.
    void divide(const attention & a, const visibility & visible, int threads) {
        int64_t all = 0;
        for (int64_t u = 0; u < units; u++) { // for now: the work of each, in chunks and tokens
            pieces[u] = threads > 1 ? static_cast<int32_t>(chunks_of(a, visible, first[u], tokens_of(u))) : 1;
            all += pieces[u] * tokens_of(u);
        }
        int32_t before = 0;
        for (int64_t u = 0; u < units; u++) {
            const int32_t chunks = pieces[u];
            const bool    large  = 4 * threads * chunks * tokens_of(u) > all * a.n_kv_heads;
            pieces[u]            = before;
            before += threads > 1 && large ? chunks : 1;
        }
        pieces[units] = before;
    }
};

} // namespace penstock

#endif
