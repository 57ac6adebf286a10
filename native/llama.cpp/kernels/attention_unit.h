// SPDX-License-Identifier: MIT
// A unit of work of attention, and how it is computed: cells are gathered into tiles, scores of a
// tile become weights, and these are multiplied with the tile's values.
#ifndef PENSTOCK_ATTENTION_UNIT_H
#define PENSTOCK_ATTENTION_UNIT_H

#include "attention_plan.h"

#include "ggml-cpu.h"
#include "simd-mappings.h"
#include "vec.h"

#include <cstring>

namespace penstock {

inline void to_floats(ggml_type type, const char * from, float * to, int64_t n) {
    switch (type) {
        case GGML_TYPE_F32: memcpy(to, from, n * sizeof(float)); break;
        case GGML_TYPE_F16: ggml_cpu_fp16_to_fp32(reinterpret_cast<const ggml_fp16_t *>(from), to, n); break;
        default:            ggml_get_type_traits(type)->to_float(from, to, n);
    }
}

// Whether rows are converted before they are computed with: those of other types, and those that do
// not fill their vectors.
inline bool is_staged(const ggml_tensor * t) { return !is_loaded(t->type) || t->ne[0] != padded(t->ne[0]); }

// One thread's memory for a unit of up to `tokens` tokens. A query row is a token for one query
// head.
struct scratch {
    float *      query;              // [query row][k_width], scaled
    char *       quantised;          // the same, where the keys are
    float *      slope;              // [query row]: of its head
    float *      score;              // [query row][tile_cells]: scores, then weights
    float *      key_panels;         // of a tile, transposed for multiply
    float *      values;             // of a tile, by panels
    float *      staged_k, *staged_v; // of a tile, row by row
    float *      bias;               // [token][tile_cells]: the mask, times log2(e)
    ints *       allowed;            // [token][tile_cells]: -1 where the token sees the cell
    char *       sums[2];            // row_sums: of all chunks so far, and of another

    scratch(char * memory, const attention & a, int64_t tokens) {
        const int64_t rows = tokens * a.heads_per_kv;
        auto       next = reinterpret_cast<uintptr_t>(memory);
        auto take = [&](auto *& to, int64_t n) {
            to = reinterpret_cast<std::decay_t<decltype(to)>>(next);
            next += GGML_PAD(n * sizeof(*to), 64);
        };
        take(sums[0], row_sums::size(rows, a.v_width()));
        take(sums[1], row_sums::size(rows, a.v_width()));
        take(values, tile_cells * a.v_width());
        take(query, rows * a.k_width());
        take(quantised, a.quantised ? rows * a.k_width() / 32 * a.quantised->query_size : 0);
        take(slope, rows);
        take(score, rows * tile_cells);
        take(key_panels, a.quantised ? 0 : tile_cells * a.k_width());
        take(staged_k, !a.quantised && is_staged(a.k) ? tile_cells * a.k_width() : 0);
        take(staged_v, is_staged(a.v) ? tile_cells * padded(a.head_dim_v) : 0);
        take(bias, tokens * tile_cells);
        take(allowed, tokens * tile_cells / lanes);
        size = next - reinterpret_cast<uintptr_t>(memory);
    }

    size_t size;
};

// Cells that are computed with together.
struct tile {
    int64_t      n = 0;                        // of them
    int64_t      cell[tile_cells];
    const char * k[tile_cells], *v[tile_cells]; // their rows; where there are fewer, the last is there again
    uint64_t     bits[most_rows];              // which of the cells a token sees
};

// The next cell that is to be gathered.
struct cell_place {
    int64_t  word = -1; // it is in
    uint64_t left = 0;  // of its cells those that are not gathered yet
};

// A unit of work: tokens [first, first+tokens), for the query heads that share one KV head. Query
// row r is token first + r%tokens for head r/tokens of those.
struct unit {
    const attention &  a;
    const visibility & visible;
    bool               biased; // the mask adds something to scores
    scratch            s;
    int64_t            first, tokens, kv_head;
    row_sums           sums;

    cell_place place;
    // The next tile is gathered before this one is computed, so that it can be fetched.
    tile tiles[2], *now = tiles, *next = tiles + 1;

    unit(const attention & op, const visibility & v, bool mask_adds, const scratch & memory, int64_t first_token, int64_t token_count, int64_t head)
        : a(op), visible(v), biased(mask_adds), s(memory), first(first_token), tokens(token_count), kv_head(head),
          sums(memory.sums[0], rows(), a.v_width()) {
        // Scaled so that weights are powers of two, or for capped().
        const float scale = a.soft_cap == 0 ? a.scale * log2_e : a.scale / a.soft_cap * 2 * log2_e;
        for (int64_t r = 0; r < rows(); r++) {
            const char * from = at(a.q, first % a.tokens + r % tokens, head_of(r), stream());
            float * const query = s.query + r * a.k_width();
            ggml_vec_cpy_f32(a.head_dim_k, query, reinterpret_cast<const float *>(from));
            ggml_vec_scale_f32(a.head_dim_k, query, scale);
            std::fill(query + a.head_dim_k, query + a.k_width(), 0.0f);
            s.slope[r] = r % tokens == 0 ? a.slope(head_of(r)) : s.slope[r - 1];
        }
        if (a.quantised) {
            a.quantised->quantise(s.query, a.k_width(), rows(), s.quantised);
        }
    }

    int64_t rows() const { return tokens * a.heads_per_kv; }
    int64_t stream() const { return first / a.tokens; }
    int64_t head_of(int64_t r) const { return kv_head * a.heads_per_kv + r / tokens; }

    // Goes on to the next word that has cells which are not gathered yet.
    bool find_cells() {
        while (!place.left && place.word + 1 < a.words) {
            place.left = visible.of_any(first, tokens, ++place.word);
        }
        return place.left != 0;
    }

    void skip(int64_t cells) {
        while (cells > 0 && find_cells()) {
            const int64_t here = __builtin_popcountll(place.left);
            if (here <= cells) {
                place.left = 0;
            } else {
                for (int64_t i = 0; i < cells; i++) {
                    place.left &= place.left - 1;
                }
            }
            cells -= here;
        }
    }

    // Gathers the next cells that any of the tokens sees.
    void gather(tile & to) {
        to.n = 0;
        std::fill_n(to.bits, tokens, 0);
        while (to.n < tile_cells && find_cells()) {
            const int64_t before = to.n;
            uint64_t      left   = place.left;
            for (; left && to.n < tile_cells; left &= left - 1) {
                to.cell[to.n++] = place.word * tile_cells + __builtin_ctzll(left);
            }
            const uint64_t taken = place.left & ~left;
            place.left = left;
            for (int64_t t = 0; t < tokens; t++) {
                to.bits[t] |= extract_bits(visible.of(first + t)[place.word], taken) << before;
            }
        }
        if (to.n > 0) {
            std::fill(to.cell + to.n, to.cell + tile_cells, to.cell[to.n - 1]);
            const char * const k = at(a.k, 0, kv_head, stream()), * const v = at(a.v, 0, kv_head, stream());
            const int64_t k_stride = a.k->nb[1], v_stride = a.v->nb[1];
            for (int64_t i = 0; i < tile_cells; i++) {
                to.k[i] = k + to.cell[i] * k_stride;
                to.v[i] = v + to.cell[i] * v_stride;
            }
        }
    }

    // Sums a chunk of the cells, whose first tile is gathered; where the unit goes on with the next
    // chunk, so is the first of that.
    void sum_chunk(const row_sums & to, bool goes_on) {
        constexpr int64_t tiles_each = chunk_cells / tile_cells;
        sums = to;
        sums.clear(rows(), a.v_width());
        for (int64_t i = 1; i <= tiles_each && next->n > 0; i++) {
            std::swap(now, next);
            next->n = 0;
            if (i < tiles_each || goes_on) {
                gather(*next);
            }
            compute_tile();
        }
    }

    // Sums all chunks.
    void sum_all() {
        row_sums all(s.sums[0], rows(), a.v_width()), other(s.sums[1], rows(), a.v_width());
        gather(*next);
        for (sum_chunk(all, true); next->n > 0;) {
            sum_chunk(other, true);
            all.add(other, rows(), a.v_width());
        }
        sums = all;
    }

    // Sums the chunk that begins at a place.
    void sum_one(const cell_place & begin, const row_sums & to) {
        place = begin;
        gather(*next);
        sum_chunk(to, false);
    }

    // The bits of a word that are in the mask, moved together (pext).
    static uint64_t extract_bits(uint64_t word, uint64_t mask) {
#ifdef __BMI2__
        return __builtin_ia32_pext_di(word, mask);
#else
        uint64_t all = 0;
        for (int to = 0; mask; mask &= mask - 1, to++) {
            all |= static_cast<uint64_t>((word & mask & -mask) != 0) << to;
        }
        return all;
#endif
    }

    static ggml_type loaded_type(const ggml_tensor * t) { return is_staged(t) ? GGML_TYPE_F32 : t->type; }

    // Converts the tile's rows where that has to be.
    void stage(const ggml_tensor * t, const char ** rows, float * staged) const {
        const int64_t width = t->ne[0];
        for (int64_t c = 0; is_staged(t) && c < tile_cells; c++) {
            float * const to = staged + std::min(c, now->n - 1) * padded(width);
            if (c < now->n) {
                to_floats(t->type, rows[c], to, width);
                std::fill(to + width, to + padded(width), 0.0f);
            }
            rows[c] = reinterpret_cast<const char *>(to);
        }
    }

    // The rows to fetch ahead. If rows are staged, or there is no next tile, it is those that are
    // there already.
    const char * const * ahead(const ggml_tensor * t, const char * const * rows, const char * const * of_next) const {
        return is_staged(t) || next->n == 0 ? rows : of_next;
    }

    // Scores, for each query row as many as there are cells.
    void compute_scores() {
        if (a.quantised) {
            a.quantised->score(now->k, next->n > 0 ? next->k : now->k, now->n, a.k_width(), s.quantised, rows(), s.score, tile_cells);
            return;
        }
        stage(a.k, now->k, s.staged_k);
        with_type(loaded_type(a.k), now->k, ahead(a.k, now->k, next->k), [&](auto from) {
            if (score_halves(s.query, a.k_width(), rows(), from, now->n, s.score, tile_cells)) {
                return;
            }
            transpose_to_panels(from, s.key_panels, now->n, a.k_width());
            for (int64_t i = 0; i < now->n; i += panel_width) {
                multiply<false, panel_vectors>(s.query, a.k_width(), rows(), a.k_width(), panel_rows{ s.key_panels + i * a.k_width(), panel_width },
                                               s.score + i, tile_cells);
            }
        });
    }

    void read_mask() {
        for (int64_t t = 0; t < tokens; t++) {
            auto * to = reinterpret_cast<int32_t *>(s.allowed) + t * tile_cells;
            for (int64_t i = 0; i < tile_cells; i++) {
                to[i] = -static_cast<int32_t>(now->bits[t] >> i & 1);
            }
            for (int64_t i = 0; biased && i < now->n; i++) {
                s.bias[t * tile_cells + i] = GGML_CPU_FP16_TO_FP32(visible.mask_of(first + t)[now->cell[i]]) * log2_e;
            }
        }
    }

    // What the model does to scores before they become weights.
    void adjust(int64_t r) {
        auto * score = reinterpret_cast<floats *>(s.score + r * tile_cells);
        for (int64_t i = 0; a.soft_cap != 0 && i < tile_cells / lanes; i++) {
            score[i] = capped(score[i], a.soft_cap);
        }
        for (int64_t i = 0; biased && i < tile_cells / lanes; i++) {
            score[i] += s.slope[r] * load(s.bias + r % tokens * tile_cells + i * lanes);
        }
    }

    // Turns scores into weights 2^(score - base). The base is about the row's highest score so far;
    // it changes only when a score is far above it, and then what was summed with the lower base is
    // scaled down.
    void scores_to_weights(int64_t r) {
        constexpr float far     = 32;
        auto *          score   = reinterpret_cast<floats *>(s.score + r * tile_cells);
        const ints *    allowed = s.allowed + r % tokens * (tile_cells / lanes);
        const float     limit   = sums.base[r] + far;
        ints            above   = {};
        for (int64_t i = 0; i < tile_cells / lanes; i++) {
            above |= allowed[i] & (score[i] > limit);
        }
        if (any(above)) {
            rebase(r, score, allowed);
        }
        floats total = {};
        for (int64_t i = 0; i < tile_cells / lanes; i++) {
            score[i] = (floats)((ints)power_of_two(score[i], sums.base[r]) & allowed[i]);
            total += score[i];
        }
        sums.total[r] += total;
    }

    void rebase(int64_t r, const floats * score, const ints * allowed) {
        floats highest = floats{} + sums.base[r];
        for (int64_t i = 0; i < tile_cells / lanes; i++) {
            highest = allowed[i] & (score[i] > highest) ? score[i] : highest;
        }
        float all = highest[0];
        for (int i = 1; i < lanes; i++) {
            all = std::max(all, highest[i]);
        }
        sums.scale(r, a.v_width(), std::nearbyint(all));
    }

    // Adds the tile to the sums.
    void compute_tile() {
        compute_scores();
        read_mask();
        for (int64_t r = 0; r < rows(); r++) {
            if (now->bits[r % tokens]) {
                adjust(r);
                scores_to_weights(r);
            } else {
                std::fill_n(s.score + r * tile_cells, now->n, 0.0f);
            }
        }
        stage(a.v, now->v, s.staged_v);
        with_type(loaded_type(a.v), now->v, ahead(a.v, now->v, next->v), [&](auto from) { add_values(from); });
    }

    // Values are converted when they are read; where there are many rows, once for all.
    template <typename T> void add_values(const tile_rows<T> & from) {
        const bool    many  = rows() > 2 * most_rows_at_once;
        const int64_t width = padded(a.head_dim_v), n = now->n;
        int64_t       d     = 0;
        for (; d + panel_width <= width; d += panel_width) {
            const single_rows<T, panel_vectors> values{ from, d };
            if (!many) {
                multiply<true, panel_vectors>(s.score, tile_cells, rows(), n, values, sums.sum + d, a.v_width());
                continue;
            }
            for (int64_t c = 0; c < n; c++) {
                for (int i = 0; i < panel_vectors; i++) {
                    reinterpret_cast<floats *>(s.values)[c * panel_vectors + i] = values(c, i);
                }
            }
            multiply<true, panel_vectors>(s.score, tile_cells, rows(), n, panel_rows{ s.values, panel_width }, sums.sum + d, a.v_width());
        }
        for (; d < width; d += lanes) {
            multiply<true, 1>(s.score, tile_cells, rows(), n, single_rows<T, 1>{ from, d }, sums.sum + d, a.v_width());
        }
    }

    void end() {
        for (int64_t r = 0; r < rows(); r++) {
            const int64_t token = first + r % tokens;
            auto * to = reinterpret_cast<float *>(static_cast<char *>(a.out->data) + (token * a.n_heads + head_of(r)) * a.out->nb[1]);
            float total = 0;
            for (int i = 0; i < lanes; i++) {
                total += sums.total[r][i];
            }
            if (a.sinks && total != 0) {
                total += std::exp2(static_cast<const float *>(a.sinks->data)[head_of(r)] * log2_e - sums.base[r]);
            }
            for (int64_t d = 0; d < a.head_dim_v; d++) {
                to[d] = total == 0 ? 0 : sums.sum[r * a.v_width() + d] / total;
            }
        }
    }
};

} // namespace penstock

#endif
