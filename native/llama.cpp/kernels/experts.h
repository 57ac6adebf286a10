// SPDX-License-Identifier: MIT
// Products of a mixture of experts: each row of inputs with some of many matrices. The rows of an
// expert are multiplied together, and the threads share the work of all experts, so that all have
// some where there are few rows.
#ifndef PENSTOCK_EXPERTS_H
#define PENSTOCK_EXPERTS_H

#include "product.h"

#ifdef PENSTOCK_PRODUCTS

namespace penstock {

// One operation. Shapes (innermost first): weights [width, results, experts], inputs [width, 1 or
// used, rows], ids [used, rows], out [results, used, rows]. A pair is a row and one of its experts.
struct experts_product {
    const ggml_tensor *weights, *inputs, *ids;
    ggml_tensor *      out;
    int64_t            width, results, experts, used, rows;

    explicit experts_product(const ggml_tensor * op)
        : weights(op->src[0]), inputs(op->src[1]), ids(op->src[2]), out(const_cast<ggml_tensor *>(op)), width(weights->ne[0]),
          results(weights->ne[1]), experts(weights->ne[2]), used(ids->ne[0]), rows(ids->ne[1]) {}

    bool has_kernel() const {
        return inputs->type == GGML_TYPE_F32 && inputs->nb[0] == sizeof(float) && out->type == GGML_TYPE_F32 && out->nb[0] == sizeof(float) &&
               !weights->extra;
    }

    int64_t blocks() const { return width / block_values; } // in a row
    int64_t pairs() const { return rows * used; }

    int32_t expert(int64_t pair) const {
        return *reinterpret_cast<const int32_t *>(static_cast<const char *>(ids->data) + pair / used * ids->nb[1] + pair % used * ids->nb[0]);
    }

    const float * input(int64_t row, int64_t i) const {
        return reinterpret_cast<const float *>(static_cast<const char *>(inputs->data) + row * inputs->nb[2] + i * inputs->nb[1]);
    }

    float * result(int64_t pair) const {
        return reinterpret_cast<float *>(static_cast<char *>(out->data) + pair / used * out->nb[2] + pair % used * out->nb[1]);
    }
};

// The pairs in the order of their experts. Each thread makes the same for itself.
struct expert_order {
    const experts_product & a;
    int32_t *               first;  // [expert]: place of its first pair; one more
    int32_t *               pair;   // [place]
    int32_t *               place;  // [pair]
    int32_t *               active; // experts that have pairs
    int64_t                 active_count = 0;

    static size_t size(const experts_product & a) { return GGML_PAD((2 * a.experts + 1 + 2 * a.pairs()) * sizeof(int32_t), 64); }

    expert_order(const experts_product & op, char * memory)
        : a(op), first(reinterpret_cast<int32_t *>(memory)), pair(first + a.experts + 1), place(pair + a.pairs()), active(place + a.pairs()) {
        std::fill_n(first, a.experts + 1, 0);
        for (int64_t i = 0; i < a.pairs(); i++) {
            first[a.expert(i) + 1]++;
        }
        for (int64_t e = 0; e < a.experts; e++) {
            if (first[e + 1] > 0) {
                active[active_count++] = static_cast<int32_t>(e);
            }
            first[e + 1] += first[e];
        }
        for (int64_t i = 0; i < a.pairs(); i++) { // first[e] goes on to where the next expert's begin
            int32_t & next = first[a.expert(i)];
            place[i]       = next;
            pair[next++]   = static_cast<int32_t>(i);
        }
        std::copy_backward(first, first + a.experts, first + a.experts + 1);
        first[0] = 0;
    }

    // Rows that are multiplied together form a group, with their blocks interleaved: where block
    // number i of a pair's input is.
    input_block * input(input_block * all, int64_t p, int64_t i) const {
        const int64_t e = a.expert(p), begin = place[p] - (place[p] - first[e]) % group_rows, n = std::min<int64_t>(group_rows, first[e + 1] - begin);
        return all + begin * a.blocks() + i * n + place[p] - begin;
    }
};

template <typename Format> struct experts_kernel : ggml::cpu::tensor_traits {
    static size_t inputs_size(const experts_product & a) { return GGML_PAD(a.pairs() * a.blocks() * sizeof(input_block), 64); }

    bool work_size(int threads, const ggml_tensor * op, size_t & size) override {
        const experts_product a(op);
        size = inputs_size(a) + threads * (sizeof(work_range) + expert_order::size(a)) + 64;
        return true;
    }

    // A thread's share of the inputs: each is quantised once, and copied to all experts that have
    // it.
    static void quantise(const expert_order & order, int64_t thread, int64_t threads, input_block * to) {
        const experts_product & a = order.a;
        const int64_t each = a.inputs->ne[1], all = a.rows * each * a.blocks();
        for (int64_t i = all * thread / threads; i < all * (thread + 1) / threads; i++) {
            const int64_t block = i % a.blocks(), row = i / a.blocks() / each, which = i / a.blocks() % each;
            input_block quantised;
            quantised.quantise<Format>(a.input(row, which) + block * block_values);
            for (int64_t p = row * a.used + which; p < (row + 1) * a.used; p += each) {
                *order.input(to, p, block) = quantised;
            }
        }
    }

    static void compute(const expert_order & order, int64_t e, int64_t begin, int64_t end, const input_block * inputs) {
        const experts_product & a = order.a;
        for (int64_t p = order.first[e]; p < order.first[e + 1]; p += group_rows) {
            const int64_t n = std::min<int64_t>(group_rows, order.first[e + 1] - p);
            float * to[group_rows];
            for (int64_t i = 0; i < n; i++) {
                to[i] = a.result(order.pair[p + i]);
            }
            multiply<Format>(weight_matrix(a.weights, e), a.width, begin, end, inputs + p * a.blocks(), n, to);
        }
    }

    // Also where ggml's kernel is to be the reference (use_ref): it would need more memory, which
    // only ggml knows the size of.
    bool compute_forward(ggml_compute_params * params, ggml_tensor * op) override {
        const experts_product a(op);
        auto * const ranges = reinterpret_cast<work_range *>(aligned_memory(params));
        char * const start  = reinterpret_cast<char *>(ranges + params->nth);
        auto * const inputs = reinterpret_cast<input_block *>(start);
        const expert_order order(a, start + inputs_size(a) + params->ith * expert_order::size(a));
        quantise(order, params->ith, params->nth, inputs);
        const int64_t units = (a.results + unit_results - 1) / unit_results; // of an expert
        share_ranges(params, ranges, order.active_count * units, [&](int64_t u) {
            const int64_t begin = u % units * unit_results;
            compute(order, order.active[u / units], begin, std::min(begin + unit_results, a.results), inputs);
        });
        return true;
    }
};

} // namespace penstock

#endif
#endif
