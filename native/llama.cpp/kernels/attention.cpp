// SPDX-License-Identifier: MIT
// Attention for the batches of a host. ggml's CPU kernels compute 64 rows and more of one head in
// tiles, but fewer row by row and cell by cell, at three times the cost. A scheduler that keeps
// streams smooth has mostly the second case: chunks of 8 to 48 tokens, and one token of each of
// many streams. Here the query rows of a tile are all that read the same keys, which are the tokens
// of a chunk times the query heads that share a KV head, so that keys and values are read and
// converted once for all of them.
//
// Only the cells that the mask lets a token see are read, wherever they are: sequences may share a
// buffer, with the cells of one between those of others. While the cells of a sequence lie in the
// order of its positions, and without a sliding window, its sums are the same to the bit whatever
// else is in the batch, and however many threads there are. Rows of a size that fills no vectors
// (72 in SigLIP, which most models that see have) are copied with zeros behind them. What this file
// does not handle (a mask for each head) is left to ggml.
#include "attention_unit.h"
#include "operation.h"

namespace {

using namespace penstock;

// Whether the operation is one that attention and unit are written for.
bool handles(const ggml_tensor * op) {
    const ggml_tensor *q = op->src[0], *k = op->src[1], *v = op->src[2], *mask = op->src[3];
    auto readable = [](const ggml_tensor * t) {
        return t->nb[0] == ggml_type_size(t->type) &&
               (t->type == GGML_TYPE_F32 || ggml_get_type_traits(t->type)->to_float);
    };
    return q->type == GGML_TYPE_F32 && readable(q) && readable(k) && readable(v) && k->ne[2] == v->ne[2] && k->ne[3] == v->ne[3] &&
           q->ne[3] == k->ne[3] && q->ne[2] % k->ne[2] == 0 && (!mask || (mask->type == GGML_TYPE_F16 && mask->ne[2] == 1));
}

struct attention_kernel : ggml::cpu::tensor_traits {
    // The work memory: what the tokens see, the sums of single chunks, then each thread's own.
    static size_t thread_size(const attention & a) {
        return work_plan::size(a) + scratch(nullptr, a, a.most_tokens()).size;
    }

    bool work_size(int threads, const ggml_tensor * op, size_t & size) override {
        const attention a(op);
        size = visibility::size(a, threads) + work_plan::chunks_size(a, threads) + threads * thread_size(a) + 64;
        return true;
    }

    // The sums of a chunk of a unit for one KV head, where each chunk has its own.
    static row_sums sums_of(const attention & a, const work_plan & plan, char * memory, int64_t unit, int64_t kv_head, int64_t chunk) {
        const int64_t most = (a.cells + chunk_cells - 1) / chunk_cells, tokens = plan.tokens_of(unit);
        const int64_t before = plan.first[unit] * a.n_kv_heads + kv_head * tokens;
        return { memory + (before * most + chunk * tokens) * row_sums::size(a.heads_per_kv, a.v_width()), tokens * a.heads_per_kv, a.v_width() };
    }

    bool compute_forward(ggml_compute_params * params, ggml_tensor * op) override {
        if (params->use_ref) {
            return false; // ggml's kernel is the reference; it fits in the memory above
        }
        const attention a(op);
        char * const memory = aligned_memory(params), *chunks = memory + visibility::size(a, params->nth);
        char * const own    = chunks + work_plan::chunks_size(a, params->nth) + params->ith * thread_size(a);
        const visibility visible(a, memory);
        visible.fill(params->ith, params->nth);
        ggml_barrier(params->threadpool);
        const bool      biased = visible.adds(params->nth);
        const work_plan plan(a, visible, params->nth, own);
        const scratch   s(own + work_plan::size(a), a, a.most_tokens());
        int64_t    found = -1; // the piece whose first cell was looked for last: the KV heads of a piece follow each other
        cell_place begin;
        share_work(params, plan.all_pieces() * a.n_kv_heads, [&](int64_t i) {
            const int64_t piece = plan.all_pieces() - 1 - i / a.n_kv_heads; // the last first: prompts come after single tokens, and take longer
            const int64_t u = plan.unit_of(piece), kv_head = i % a.n_kv_heads, chunk = piece - plan.pieces[u];
            unit work(a, visible, biased, s, plan.first[u], plan.tokens_of(u), kv_head);
            if (plan.pieces_of(u) == 1) {
                work.sum_all();
                work.end();
            } else {
                if (piece != found) {
                    work.skip(chunk * chunk_cells);
                    begin = work.place;
                    found = piece;
                }
                work.sum_one(begin, sums_of(a, plan, chunks, u, kv_head, chunk));
            }
        });
        if (plan.all_pieces() > plan.units) {
            ggml_barrier(params->threadpool);
            add_chunks(params, a, visible, plan, s, chunks);
        }
        return true;
    }

    static void add_chunks(const ggml_compute_params * params, const attention & a, const visibility & visible, const work_plan & plan,
                           const scratch & s, char * chunks) {
        for (int64_t i = params->ith; i < plan.units * a.n_kv_heads; i += params->nth) {
            const int64_t u = i / a.n_kv_heads, kv_head = i % a.n_kv_heads;
            if (plan.pieces_of(u) == 1) {
                continue;
            }
            unit work(a, visible, false, s, plan.first[u], plan.tokens_of(u), kv_head);
            work.sums = sums_of(a, plan, chunks, u, kv_head, 0);
            for (int64_t chunk = 1; chunk < plan.pieces_of(u); chunk++) {
                row_sums other = sums_of(a, plan, chunks, u, kv_head, chunk);
                work.sums.add(other, work.rows(), a.v_width());
            }
            work.end();
        }
    }
};

} // namespace

ggml::cpu::tensor_traits * penstock::attention_for(const ggml_tensor * op) {
    static attention_kernel kernel;
    return handles(op) ? &kernel : nullptr;
}
