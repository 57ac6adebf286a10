// SPDX-License-Identifier: MIT
// Attention for the batches a host makes. ggml's CPU kernels know two cases: 64 rows and more of one head are worked on
// in tiles, fewer are worked on row by row and cell by cell, at three times the cost. A scheduler that keeps streams smooth lives in
// the second case: chunks of 8 to 48 tokens, and one token of each of many streams. Here a tile is made of all rows that read the
// same keys, which are the tokens of a chunk times the query heads that share a key head, so that keys and values
// are read and converted once for all of them.
//
// Only cells that the mask lets a row see are looked at, wherever they are: sequences may share a buffer, with their cells between those
// of others. As long as a sequence's own cells lie in the order of its positions, and without a window, its sums are the same to the
// bit whoever is beside it. What this file does not handle (ALiBi, soft capping, sinks, odd head sizes) stays with ggml.
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

// One thread's memory for a unit of up to `tokens` tokens.
struct scratch {
    float * query, *score, *keys, *turned, *values, *row, *sum, *base; // values and sums by parts
    floats * total;
    ints *   allowed;

    scratch(char * memory, const attention & a, int64_t tokens) {
        const int64_t rows = tokens * a.shared;
        auto       next = reinterpret_cast<uintptr_t>(memory);
        auto take = [&](auto *& to, int64_t n) {
            to = reinterpret_cast<std::decay_t<decltype(to)>>(next);
            next += GGML_PAD(n * sizeof(*to), 64);
        };
        take(sum, rows * a.parts * part);
        take(total, rows);
        take(values, a.parts * tile_cells * part);
        take(query, rows * a.key);
        take(score, rows * tile_cells);
        take(keys, tile_cells * a.key);
        take(turned, tile_cells * a.key);
        take(row, a.parts * part);
        take(base, rows);
        take(allowed, tokens * tile_cells / lanes);
        size = next - reinterpret_cast<uintptr_t>(memory);
    }

    size_t size;
};

// A unit: rows [first, first+tokens), for the query heads that share one key head.
struct unit {
    const attention & a;
    const sight &     sees;
    scratch           s;
    int64_t           first, tokens, group;

    int64_t  cell[tile_cells]; // of the tile
    int64_t  n = 0;
    uint64_t bits[most_rows];  // which of them a token may look at

    int64_t rows() const { return tokens * a.shared; }
    int64_t stream() const { return first / a.tokens; }

    // Queries are scaled so that weights are powers of two.
    void begin() {
        constexpr float log2_e = 1.44269504f;
        for (int64_t r = 0; r < rows(); r++) {
            const char * from = at(a.q, first % a.tokens + r % tokens, group * a.shared + r / tokens, stream());
            ggml_vec_cpy_f32(a.key, s.query + r * a.key, reinterpret_cast<const float *>(from));
            ggml_vec_scale_f32(a.key, s.query + r * a.key, a.scale * log2_e);
        }
        std::fill_n(s.sum, rows() * a.parts * part, 0.0f);
        std::fill_n(s.row, a.parts * part, 0.0f);
        for (int64_t r = 0; r < rows(); r++) { // a template would take floats to be aligned
            s.total[r] = floats{};
        }
        std::fill_n(s.base, rows(), -INFINITY);
        std::fill_n(bits, tokens, 0);
    }

    // Gathers the cells that any of the tokens may look at, and works on them by tiles.
    void gather() {
        for (int64_t w = 0; w < a.words; w++) {
            uint64_t left = 0;
            for (int64_t t = 0; t < tokens; t++) {
                left |= sees.row(first + t)[w];
            }
            while (left) {
                const int64_t before = n;
                uint64_t      taken  = 0;
                for (; left && n < tile_cells; left &= left - 1) {
                    taken |= left & -left;
                    cell[n++] = w * tile_cells + __builtin_ctzll(left);
                }
                for (int64_t t = 0; t < tokens; t++) {
                    bits[t] |= pressed(sees.row(first + t)[w], taken) << before;
                }
                if (n == tile_cells) {
                    add();
                }
            }
        }
        if (n > 0) {
            add();
        }
    }

    // The bits of a word that are in the mask, side by side.
    static uint64_t pressed(uint64_t word, uint64_t mask) {
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

    void load() {
        for (int64_t c = 0; c < n; c++) {
            to_floats(a.k->type, at(a.k, cell[c], group, stream()), s.keys + c * a.key, a.key);
            to_floats(a.v->type, at(a.v, cell[c], group, stream()), s.row, a.value);
            for (int64_t p = 0; p < a.parts; p++) {
                ggml_vec_cpy_f32(part, s.values + (p * tile_cells + c) * part, s.row + p * part);
            }
        }
        std::fill_n(s.keys + n * a.key, (tile_cells - n) * a.key, 0.0f);
        turn(s.keys, s.turned, tile_cells, a.key);
        for (int64_t t = 0; t < tokens; t++) {
            auto * to = reinterpret_cast<int32_t *>(s.allowed) + t * tile_cells;
            for (int64_t i = 0; i < tile_cells; i++) {
                to[i] = -static_cast<int32_t>(bits[t] >> i & 1);
            }
        }
    }

    // Scores become weights, powers of two by a base. It is about the row's highest score, or one of before that is not far below;
    // what was summed by a lower base is scaled down.
    void weigh(int64_t r) {
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
        const float less = std::exp2(s.base[r] - highest); // exact
        s.total[r] *= less;
        for (int64_t d = 0; d < a.parts * part; d++) {
            s.sum[r * a.parts * part + d] *= less;
        }
        s.base[r] = highest;
    }

    // Works on the gathered tile and begins the next.
    void add() {
        load();
        for (int64_t i = 0; i < tile_cells; i += columns * lanes) {
            multiply<false>(s.query, a.key, rows(), a.key, s.turned + i * a.key, s.score + i, tile_cells);
        }
        for (int64_t r = 0; r < rows(); r++) {
            if (bits[r % tokens]) {
                weigh(r);
            } else {
                std::fill_n(s.score + r * tile_cells, n, 0.0f);
            }
        }
        for (int64_t i = 0; i < a.parts; i++) {
            multiply<true>(s.score, tile_cells, rows(), n, s.values + i * tile_cells * part, s.sum + i * part, a.parts * part);
        }
        n = 0;
        std::fill_n(bits, tokens, 0);
    }

    void end() {
        const int64_t heads = a.groups * a.shared;
        for (int64_t r = 0; r < rows(); r++) {
            const int64_t head = group * a.shared + r / tokens, row = first + r % tokens;
            auto * to = reinterpret_cast<float *>(static_cast<char *>(a.out->data) + (row * heads + head) * a.out->nb[1]);
            float total = 0;
            for (int i = 0; i < lanes; i++) {
                total += s.total[r][i];
            }
            for (int64_t d = 0; d < a.value; d++) {
                to[d] = total == 0 ? 0 : s.sum[r * a.parts * part + d] / total;
            }
        }
    }
};

// Answers whether the operation is one that attention and unit above are written for.
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

struct kernel : ggml::cpu::tensor_traits {
    static size_t thread_size(const attention & a) {
        return plan::size(a) + scratch(nullptr, a, a.most_tokens()).size;
    }

    // ggml's kernel needs memory too, where it takes over: tiles of 64 rows for each thread, or sums of all heads.
    static size_t ggml_size(const attention & a, int threads) {
        static_assert(GGML_FA_TILE_Q == 64 && GGML_FA_TILE_KV == 64, "ggml_graph_plan's sum for GGML_OP_FLASH_ATTN_EXT is the same as this");
        const int64_t tiles = 64 * (2 * a.key + 2 * a.value + 2 * 64), sums = a.groups * a.shared * (2 + a.value) + a.key + 2 * a.value;
        return threads * std::max(tiles, sums) * sizeof(float);
    }

    bool work_size(int threads, const ggml_tensor * op, size_t & size) override {
        const attention a(op);
        size = std::max(sight::size(a, threads) + threads * thread_size(a) + 64, ggml_size(a, threads));
        return true;
    }

    bool compute_forward(ggml_compute_params * params, ggml_tensor * op) override {
        if (params->use_ref) {
            return false; // ggml's kernel is the reference
        }
        const attention a(op);
        char * const  memory = aligned(params), *own = memory + sight::size(a, params->nth) + params->ith * thread_size(a);
        const sight   sees(a, memory);
        sees.look(params->ith, params->nth);
        ggml_barrier(params->threadpool);
        if (!sees.understood(params->nth)) {
            ggml_barrier(params->threadpool); // ggml's kernel writes to the memory that others may still read
            return false;
        }
        const plan    units(a, sees, params->nth, own);
        const scratch s(own + plan::size(a), a, a.most_tokens());
        share(params, units.units * a.groups, [&](int64_t u) {
            const int64_t i = units.units - 1 - u / a.groups; // the last first: prompts follow those who generate, and take longer
            unit work{ a, sees, s, units.first[i], units.first[i + 1] - units.first[i], u % a.groups, {}, 0, {} };
            work.begin();
            work.gather();
            work.end();
        });
        return true;
    }
};

} // namespace

ggml::cpu::tensor_traits * penstock::attention_for(const ggml_tensor * op) {
    static kernel attend;
    return handles(op) ? &attend : nullptr;
}
