// SPDX-License-Identifier: MIT
// Attention for the batches a host makes. ggml's CPU kernels know two cases: 64 rows and more of one head are worked on
// in tiles, fewer are worked on row by row and cell by cell, at three times the cost. A scheduler that keeps streams smooth lives in
// the second case: chunks of 8 to 48 tokens, and one token of each of many streams. Here a tile is made of all rows that read the
// same keys, which are the tokens of a chunk times the query heads that share a key head, so that keys and values
// are read and converted once for all of them. Sums are kept in 32 bits, where ggml's row kernel keeps them in 16.
// What this file does not handle (ALiBi, soft capping, sinks, odd head sizes) stays with ggml.
#include "operation.h"

#include "ggml-cpu.h"
#include "simd-gemm.h"
#include "vec.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>

namespace {

constexpr int64_t tile_cells = 64; // KV cells that are worked on at a time
constexpr int64_t most_rows  = 96; // query rows of a unit of work, so that their sums stay in the core's own cache
constexpr int64_t few_rows   = 8;  // below this, converting keys costs more than computing with them: units are not divided further

// One operation, by the names of its dimensions. Shapes (innermost first): q [key, tokens, heads, streams],
// k [key, cells, groups, streams], v [value, cells, groups, streams], mask [cells, tokens, 1, streams], out [value, heads, tokens, streams].
struct attention {
    const ggml_tensor *q, *k, *v, *mask;
    ggml_tensor *      out;
    int64_t            key, value, tokens, cells, groups, shared, streams;
    float              scale;

    explicit attention(const ggml_tensor * op)
        : q(op->src[0]), k(op->src[1]), v(op->src[2]), mask(op->src[3]), out(const_cast<ggml_tensor *>(op)),
          key(k->ne[0]), value(v->ne[0]), tokens(q->ne[1]), cells(k->ne[1]), groups(k->ne[2]),
          shared(q->ne[2] / k->ne[2]), streams(q->ne[3]), scale(ggml_get_op_params_f32(op, 0)) {}

    // Tokens of a unit: as many as the cache holds, fewer where the threads would have unequal work.
    int64_t tokens_each(int threads) const {
        int64_t each  = std::min(tokens, std::max<int64_t>(1, most_rows / shared));
        auto    units = [&] { return groups * streams * ((tokens + each - 1) / each); };
        while (units() % threads != 0 && units() < 4 * threads && each > 1 && each * shared > few_rows) {
            each = (each + 1) / 2;
        }
        return each;
    }
};

// One thread's memory for a unit of up to `rows` query rows; all in floats.
struct scratch {
    float *query, *score, *sum, *mask, *seen, *keys, *turned, *values, *highest, *total;

    scratch(float * at, const attention & a, int64_t tokens) {
        const int64_t rows = tokens * a.shared;
        auto take = [&at](int64_t floats) { float * start = at; at += floats; return start; };
        query   = take(rows * a.key);
        score   = take(rows * tile_cells);
        sum     = take(rows * a.value);
        mask    = take(tokens * tile_cells);
        seen    = take(tile_cells);
        keys    = take(tile_cells * a.key);
        turned  = take(tile_cells * a.key);
        values  = take(tile_cells * a.value);
        highest = take(rows);
        total   = take(rows);
    }

    static size_t floats(const attention & a, int64_t tokens) {
        const int64_t rows = tokens * a.shared;
        const int64_t all  = rows * (a.key + tile_cells + a.value + 2) + (tokens + 1) * tile_cells + tile_cells * (2 * a.key + a.value);
        return GGML_PAD(all, 16); // whole cache lines
    }
};

const char * at(const ggml_tensor * t, int64_t i1, int64_t i2, int64_t i3) {
    return static_cast<const char *>(t->data) + i1 * t->nb[1] + i2 * t->nb[2] + i3 * t->nb[3];
}

void to_floats(ggml_type type, const char * from, float * to, int64_t n) {
    switch (type) {
        case GGML_TYPE_F32: memcpy(to, from, n * sizeof(float)); break;
        case GGML_TYPE_F16: ggml_cpu_fp16_to_fp32(reinterpret_cast<const ggml_fp16_t *>(from), to, n); break;
        default:            ggml_get_type_traits(type)->to_float(from, to, n);
    }
}

// turned[d][cell] = keys[cell][d], a square of vectors at a time: interleaving the rows of the upper half with those of the lower
// half, log2(lanes) times over, exchanges rows and columns.
#ifdef __AVX512F__
constexpr int lanes = 16;
#else
constexpr int lanes = 4;
#endif
typedef float vector __attribute__((vector_size(4 * lanes), aligned(4)));

template <int... I> vector first_half(vector a, vector b, std::integer_sequence<int, I...>) {
    return __builtin_shufflevector(a, b, (I / 2 + I % 2 * lanes)...);
}

template <int... I> vector second_half(vector a, vector b, std::integer_sequence<int, I...>) {
    return __builtin_shufflevector(a, b, (lanes / 2 + I / 2 + I % 2 * lanes)...);
}

void turn(const float * keys, float * turned, int64_t key) {
    constexpr auto order = std::make_integer_sequence<int, lanes>{};
    for (int64_t c = 0; c < tile_cells; c += lanes) {
        for (int64_t d = 0; d < key; d += lanes) {
            vector rows[lanes], next[lanes];
            for (int i = 0; i < lanes; i++) {
                rows[i] = *reinterpret_cast<const vector *>(keys + (c + i) * key + d);
            }
            for (int stage = 1; stage < lanes; stage *= 2) {
                for (int i = 0; i < lanes / 2; i++) {
                    next[2 * i]     = first_half(rows[i], rows[i + lanes / 2], order);
                    next[2 * i + 1] = second_half(rows[i], rows[i + lanes / 2], order);
                }
                std::copy(next, next + lanes, rows);
            }
            for (int i = 0; i < lanes; i++) {
                *reinterpret_cast<vector *>(turned + (d + i) * tile_cells + c) = rows[i];
            }
        }
    }
}

// A unit: the tokens [first, first+tokens) of one stream, for the query heads that share one key head.
struct unit {
    const attention & a;
    scratch           s;
    int64_t           first, tokens, group, stream;

    int64_t rows() const { return tokens * a.shared; }

    void begin() {
        for (int64_t r = 0; r < rows(); r++) {
            const char * from = at(a.q, first + r % tokens, group * a.shared + r / tokens, stream);
            ggml_vec_cpy_f32(a.key, s.query + r * a.key, reinterpret_cast<const float *>(from));
            ggml_vec_scale_f32(a.key, s.query + r * a.key, a.scale);
        }
        std::fill_n(s.sum, rows() * a.value, 0.0f);
        std::fill_n(s.highest, rows(), -INFINITY);
        std::fill_n(s.total, rows(), 0.0f);
    }

    // The tile's mask as floats, cells past the end masked, and the highest of each cell. False: no token may look at any of them.
    bool load_mask(int64_t cell, int64_t n) {
        std::fill_n(s.seen, tile_cells, -INFINITY);
        for (int64_t t = 0; t < tokens; t++) {
            float * to = s.mask + t * tile_cells;
            std::fill_n(to + n, tile_cells - n, -INFINITY);
            if (a.mask) {
                const char * row = at(a.mask, first + t, 0, stream % a.mask->ne[3]);
                ggml_cpu_fp16_to_fp32(reinterpret_cast<const ggml_fp16_t *>(row) + cell, to, n);
            } else {
                std::fill_n(to, n, 0.0f);
            }
            auto * seen = reinterpret_cast<vector *>(s.seen);
            for (int64_t i = 0; i < tile_cells / lanes; i++) {
                const vector m = reinterpret_cast<const vector *>(to)[i];
                seen[i] = m > seen[i] ? m : seen[i];
            }
        }
        return std::any_of(s.seen, s.seen + n, [](float m) { return m != -INFINITY; });
    }

    // Cells that no token of the unit may look at count as zeros, whatever another sequence or an earlier one left in them.
    void load_cells(int64_t cell, int64_t n) {
        for (int64_t c = 0; c < tile_cells; c++) {
            if (c < n && s.seen[c] != -INFINITY) {
                to_floats(a.k->type, at(a.k, cell + c, group, stream), s.keys + c * a.key, a.key);
                to_floats(a.v->type, at(a.v, cell + c, group, stream), s.values + c * a.value, a.value);
            } else {
                std::fill_n(s.keys + c * a.key, a.key, 0.0f);
                std::fill_n(s.values + c * a.value, a.value, 0.0f);
            }
        }
        turn(s.keys, s.turned, a.key);
    }

    // The scores of a row with its mask added, and the highest of them.
    float masked(int64_t r) {
        auto *       score = reinterpret_cast<vector *>(s.score + r * tile_cells);
        const auto * mask  = reinterpret_cast<const vector *>(s.mask + r % tokens * tile_cells);
        vector       most  = score[0] += mask[0];
        for (int64_t i = 1; i < tile_cells / lanes; i++) {
            score[i] += mask[i];
            most = score[i] > most ? score[i] : most;
        }
        float highest = most[0];
        for (int i = 1; i < lanes; i++) {
            highest = std::max(highest, most[i]);
        }
        return highest;
    }

    // Scores become weights relative to the highest score so far; what was summed under a lower one is scaled down.
    void weigh(int64_t r) {
        float *     score   = s.score + r * tile_cells;
        const float highest = std::max(masked(r), s.highest[r]);
        if (highest == -INFINITY) {
            std::fill_n(score, tile_cells, 0.0f);
            return;
        }
        if (highest > s.highest[r]) {
            const float less = expf(s.highest[r] - highest);
            s.total[r] *= less;
            ggml_vec_scale_f32(a.value, s.sum + r * a.value, less);
            s.highest[r] = highest;
        }
        s.total[r] += static_cast<float>(ggml_vec_soft_max_f32(tile_cells, score, score, highest));
    }

    void add(int64_t cell) {
        const int64_t n = std::min(tile_cells, a.cells - cell);
        if (!load_mask(cell, n)) {
            return;
        }
        load_cells(cell, n);
        std::fill_n(s.score, rows() * tile_cells, 0.0f);
        simd_gemm(s.score, s.query, s.turned, rows(), a.key, tile_cells);
        for (int64_t r = 0; r < rows(); r++) {
            weigh(r);
        }
        simd_gemm(s.sum, s.score, s.values, rows(), tile_cells, a.value);
    }

    void end() {
        const int64_t heads = a.groups * a.shared;
        for (int64_t r = 0; r < rows(); r++) {
            const int64_t head = group * a.shared + r / tokens, token = first + r % tokens;
            float * to = reinterpret_cast<float *>(static_cast<char *>(a.out->data) +
                ((stream * a.tokens + token) * heads + head) * a.out->nb[1]);
            const float * sum = s.sum + r * a.value;
            ggml_vec_cpy_f32(a.value, to, sum);
            ggml_vec_scale_f32(a.value, to, s.total[r] == 0 ? 0 : 1 / s.total[r]);
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
    bool work_size(int threads, const ggml_tensor * op, size_t & size) override {
        const attention a(op);
        size = 0;
        for (int n = 1; n <= threads; n++) { // a pass may have fewer threads than it was planned for, and then larger units
            size = std::max(size, n * scratch::floats(a, a.tokens_each(n)) * sizeof(float) + 64);
        }
        return true;
    }

    bool compute_forward(ggml_compute_params * params, ggml_tensor * op) override {
        if (params->use_ref) {
            return false; // ggml's row kernel is the reference; it fits into the memory above
        }
        const attention a(op);
        const int64_t   each = a.tokens_each(params->nth), blocks = (a.tokens + each - 1) / each;
        const scratch   memory(reinterpret_cast<float *>(penstock::aligned(params)) + params->ith * scratch::floats(a, each), a, each);
        penstock::share(params, blocks * a.groups * a.streams, [&](int64_t u) {
            const int64_t first = u % blocks * each;
            unit work{ a, memory, first, std::min(each, a.tokens - first), u / blocks % a.groups, u / blocks / a.groups };
            work.begin();
            for (int64_t cell = 0; cell < a.cells; cell += tile_cells) {
                work.add(cell);
            }
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
