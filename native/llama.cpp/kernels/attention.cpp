// SPDX-License-Identifier: MIT
// Attention for the batches of a host. ggml's CPU kernels compute 64 rows and more of one head in tiles, but fewer row by row and cell by
// cell, at three times the cost. A scheduler that keeps streams smooth has mostly the second case: chunks of 8 to 48 tokens, and one
// token of each of many streams. Here the query rows of a tile are all that read the same keys, which are the tokens of a chunk times
// the query heads that share a KV head, so that keys and values are read and converted once for all of them.
//
// Only the cells that the mask lets a token see are read, wherever they are: sequences may share a buffer, with the cells of one between
// those of others. While the cells of a sequence lie in the order of its positions, and without a sliding window, its sums are the same
// to the bit whatever else is in the batch. What this file does not handle (ALiBi, soft capping, sinks, odd head sizes) is left to ggml.
#include "attention.h"
#include "operation.h"

#include "common.h"
#include "ggml-cpu.h"
#include "vec.h"

#include <cstring>

namespace {

using namespace penstock;

void to_floats(ggml_type type, const char * from, float * to, int64_t n) {
    switch (type) {
        case GGML_TYPE_F32: memcpy(to, from, n * sizeof(float)); break;
        case GGML_TYPE_F16: ggml_cpu_fp16_to_fp32(reinterpret_cast<const ggml_fp16_t *>(from), to, n); break;
        default:            ggml_get_type_traits(type)->to_float(from, to, n);
    }
}

// One thread's memory for a unit of up to `tokens` tokens. A query row is a token for one query head.
struct scratch {
    float *  query;             // [query row][head_dim_k], scaled
    float *  score;             // [query row][tile_cells]: scores, then weights
    float *  keys, *key_panels; // of a tile: row by row, then transposed for multiply
    float *  values;            // of a tile, by panels
    float *  value_row;         // of a cell
    float *  sum;               // [query row][panels]: weighted values
    float *  base;              // [query row]: weights are 2^(score - base)
    floats * total;             // [query row]: of weights, by lane
    ints *   allowed;           // [token][tile_cells]: -1 where the token sees the cell

    scratch(char * memory, const attention & a, int64_t tokens) {
        const int64_t rows = tokens * a.heads_per_kv;
        auto       next = reinterpret_cast<uintptr_t>(memory);
        auto take = [&](auto *& to, int64_t n) {
            to = reinterpret_cast<std::decay_t<decltype(to)>>(next);
            next += GGML_PAD(n * sizeof(*to), 64);
        };
        take(sum, rows * a.v_panels * panel_width);
        take(total, rows);
        take(values, a.v_panels * tile_cells * panel_width);
        take(query, rows * a.head_dim_k);
        take(score, rows * tile_cells);
        take(keys, tile_cells * a.head_dim_k);
        take(key_panels, tile_cells * a.head_dim_k);
        take(value_row, a.v_panels * panel_width);
        take(base, rows);
        take(allowed, tokens * tile_cells / lanes);
        size = next - reinterpret_cast<uintptr_t>(memory);
    }

    size_t size;
};

// A unit of work: tokens [first, first+tokens), for the query heads that share one KV head. Query row r is token first + r%tokens for
// head r/tokens of those.
struct unit {
    const attention &  a;
    const visibility & visible;
    scratch            s;
    int64_t            first, tokens, kv_head;

    int64_t  cell[tile_cells]; // of the tile
    int64_t  n = 0;            // cells in the tile
    uint64_t bits[most_rows];  // which of them a token sees

    int64_t rows() const { return tokens * a.heads_per_kv; }
    int64_t stream() const { return first / a.tokens; }

    // Queries are scaled so that weights are powers of two.
    void begin() {
        constexpr float log2_e = 1.44269504f;
        for (int64_t r = 0; r < rows(); r++) {
            const char * from = at(a.q, first % a.tokens + r % tokens, kv_head * a.heads_per_kv + r / tokens, stream());
            ggml_vec_cpy_f32(a.head_dim_k, s.query + r * a.head_dim_k, reinterpret_cast<const float *>(from));
            ggml_vec_scale_f32(a.head_dim_k, s.query + r * a.head_dim_k, a.scale * log2_e);
        }
        std::fill_n(s.sum, rows() * a.v_panels * panel_width, 0.0f);
        std::fill_n(s.value_row, a.v_panels * panel_width, 0.0f);
        for (int64_t r = 0; r < rows(); r++) { // a template would take floats to be aligned
            s.total[r] = floats{};
        }
        std::fill_n(s.base, rows(), -INFINITY);
        std::fill_n(bits, tokens, 0);
    }

    // Gathers the cells that any of the tokens sees into tiles, and computes each tile.
    void gather() {
        for (int64_t w = 0; w < a.words; w++) {
            uint64_t left = 0;
            for (int64_t t = 0; t < tokens; t++) {
                left |= visible.of(first + t)[w];
            }
            while (left) {
                const int64_t before = n;
                uint64_t      taken  = 0;
                for (; left && n < tile_cells; left &= left - 1) {
                    taken |= left & -left;
                    cell[n++] = w * tile_cells + __builtin_ctzll(left);
                }
                for (int64_t t = 0; t < tokens; t++) {
                    bits[t] |= extract_bits(visible.of(first + t)[w], taken) << before;
                }
                if (n == tile_cells) {
                    compute_tile();
                }
            }
        }
        if (n > 0) {
            compute_tile();
        }
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

    void load_tile() {
        for (int64_t c = 0; c < n; c++) {
            to_floats(a.k->type, at(a.k, cell[c], kv_head, stream()), s.keys + c * a.head_dim_k, a.head_dim_k);
            to_floats(a.v->type, at(a.v, cell[c], kv_head, stream()), s.value_row, a.head_dim_v);
            for (int64_t p = 0; p < a.v_panels; p++) {
                ggml_vec_cpy_f32(panel_width, s.values + (p * tile_cells + c) * panel_width, s.value_row + p * panel_width);
            }
        }
        std::fill_n(s.keys + n * a.head_dim_k, (tile_cells - n) * a.head_dim_k, 0.0f);
        transpose_to_panels(s.keys, s.key_panels, tile_cells, a.head_dim_k);
        for (int64_t t = 0; t < tokens; t++) {
            auto * to = reinterpret_cast<int32_t *>(s.allowed) + t * tile_cells;
            for (int64_t i = 0; i < tile_cells; i++) {
                to[i] = -static_cast<int32_t>(bits[t] >> i & 1);
            }
        }
    }

    // Turns scores into weights 2^(score - base). The base is about the row's highest score so far; it changes only when a score is far
    // above it, and then what was summed with the lower base is scaled down.
    void scores_to_weights(int64_t r) {
        constexpr float far     = 32;
        auto *          score   = reinterpret_cast<floats *>(s.score + r * tile_cells);
        const ints *    allowed = s.allowed + r % tokens * (tile_cells / lanes);
        const float     limit   = s.base[r] + far;
        ints            above   = {};
        for (int64_t i = 0; i < tile_cells / lanes; i++) {
            above |= allowed[i] & (score[i] > limit);
        }
        if (any(above)) {
            rebase(r, score, allowed);
        }
        floats total = {};
        for (int64_t i = 0; i < tile_cells / lanes; i++) {
            score[i] = (floats)((ints)power_of_two(score[i], s.base[r]) & allowed[i]);
            total += score[i];
        }
        s.total[r] += total;
    }

    void rebase(int64_t r, const floats * score, const ints * allowed) {
        float highest = s.base[r];
        for (int64_t c = 0; c < tile_cells; c++) {
            if (allowed[c / lanes][c % lanes] && score[c / lanes][c % lanes] > highest) {
                highest = std::nearbyint(score[c / lanes][c % lanes]);
            }
        }
        const float factor = std::exp2(s.base[r] - highest); // exact
        s.total[r] *= factor;
        for (int64_t d = 0; d < a.v_panels * panel_width; d++) {
            s.sum[r * a.v_panels * panel_width + d] *= factor;
        }
        s.base[r] = highest;
    }

    // Adds the gathered tile to the sums, and begins the next.
    void compute_tile() {
        load_tile();
        for (int64_t i = 0; i < tile_cells; i += panel_width) {
            multiply<false>(s.query, a.head_dim_k, rows(), a.head_dim_k, s.key_panels + i * a.head_dim_k, s.score + i, tile_cells);
        }
        for (int64_t r = 0; r < rows(); r++) {
            if (bits[r % tokens]) {
                scores_to_weights(r);
            } else {
                std::fill_n(s.score + r * tile_cells, n, 0.0f);
            }
        }
        for (int64_t i = 0; i < a.v_panels; i++) {
            multiply<true>(s.score, tile_cells, rows(), n, s.values + i * tile_cells * panel_width, s.sum + i * panel_width, a.v_panels * panel_width);
        }
        n = 0;
        std::fill_n(bits, tokens, 0);
    }

    void end() {
        for (int64_t r = 0; r < rows(); r++) {
            const int64_t head = kv_head * a.heads_per_kv + r / tokens, token = first + r % tokens;
            auto * to = reinterpret_cast<float *>(static_cast<char *>(a.out->data) + (token * a.n_heads + head) * a.out->nb[1]);
            float total = 0;
            for (int i = 0; i < lanes; i++) {
                total += s.total[r][i];
            }
            for (int64_t d = 0; d < a.head_dim_v; d++) {
                to[d] = total == 0 ? 0 : s.sum[r * a.v_panels * panel_width + d] / total;
            }
        }
    }
};

// Whether the operation is one that attention and unit are written for.
bool handles(const ggml_tensor * op) {
    const ggml_tensor *q = op->src[0], *k = op->src[1], *v = op->src[2], *mask = op->src[3];
    const float max_bias = ggml_get_op_params_f32(op, 1), soft_cap = ggml_get_op_params_f32(op, 2);
    auto readable = [](const ggml_tensor * t) {
        return t->nb[0] == ggml_type_size(t->type) && t->ne[0] % 16 == 0 &&
               (t->type == GGML_TYPE_F32 || ggml_get_type_traits(t->type)->to_float);
    };
    return max_bias == 0 && soft_cap == 0 && !op->src[4] && q->type == GGML_TYPE_F32 && readable(q) && readable(k) && readable(v) &&
           k->ne[2] == v->ne[2] && k->ne[3] == v->ne[3] && q->ne[3] == k->ne[3] && q->ne[2] % k->ne[2] == 0 &&
           (!mask || (mask->type == GGML_TYPE_F16 && mask->ne[2] == 1));
}

struct attention_kernel : ggml::cpu::tensor_traits {
    static size_t thread_size(const attention & a) {
        return work_plan::size(a) + scratch(nullptr, a, a.most_tokens()).size;
    }

    // ggml's kernel needs memory too, where it takes over: tiles of 64 rows for each thread, or sums of all heads.
    static size_t ggml_size(const attention & a, int threads) {
        static_assert(GGML_FA_TILE_Q == 64 && GGML_FA_TILE_KV == 64, "ggml_graph_plan's sum for GGML_OP_FLASH_ATTN_EXT is the same as this");
        const int64_t tiles = 64 * (2 * a.head_dim_k + 2 * a.head_dim_v + 2 * 64), sums = a.n_heads * (2 + a.head_dim_v) + a.head_dim_k + 2 * a.head_dim_v;
        return threads * std::max(tiles, sums) * sizeof(float);
    }

    bool work_size(int threads, const ggml_tensor * op, size_t & size) override {
        const attention a(op);
        size = std::max(visibility::size(a, threads) + threads * thread_size(a) + 64, ggml_size(a, threads));
        return true;
    }

    bool compute_forward(ggml_compute_params * params, ggml_tensor * op) override {
        if (params->use_ref) {
            return false; // ggml's kernel is the reference
        }
        const attention a(op);
        char * const  memory = aligned_memory(params), *own = memory + visibility::size(a, params->nth) + params->ith * thread_size(a);
        const visibility visible(a, memory);
        visible.fill(params->ith, params->nth);
        ggml_barrier(params->threadpool);
        if (!visible.is_exact(params->nth)) {
            ggml_barrier(params->threadpool); // ggml's kernel writes to memory that other threads may still read
            return false;
        }
        const work_plan plan(a, visible, params->nth, own);
        const scratch   s(own + work_plan::size(a), a, a.most_tokens());
        share_work(params, plan.units * a.n_kv_heads, [&](int64_t u) {
            const int64_t i = plan.units - 1 - u / a.n_kv_heads; // the last first: prompts come after single tokens, and take longer
            unit work{ a, visible, s, plan.first[i], plan.first[i + 1] - plan.first[i], u % a.n_kv_heads, {}, 0, {} };
            work.begin();
            work.gather();
            work.end();
        });
        return true;
    }
};

} // namespace

ggml::cpu::tensor_traits * penstock::attention_for(const ggml_tensor * op) {
    static attention_kernel kernel;
    return handles(op) ? &kernel : nullptr;
}
