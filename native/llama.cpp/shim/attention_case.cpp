// SPDX-License-Identifier: MIT
#include "attention_case.h"

#include "huge_pages.h"

#include <cmath>
#include <numeric>
#include <thread>

using namespace ps::trial;

namespace {

// Random vectors of n numbers, by place and then by head.
std::vector<float> vectors(uint32_t kind, int64_t places, int64_t heads, int64_t n, const std::function<uint64_t(int64_t)> & name) {
    std::vector<float> all;
    all.reserve(static_cast<size_t>(places * heads * n));
    for (int64_t i = 0; i < places; i++) {
        for (int64_t h = 0; h < heads; h++) {
            random_numbers random{ static_cast<uint32_t>((name(i) * 64 + static_cast<uint64_t>(h)) * 2654435761U + kind) };
            random();
            const auto one = random.many(n);
            all.insert(all.end(), one.begin(), one.end());
        }
    }
    return all;
}

}  // namespace

ps_attention::ps_attention(const ps_attention_case & of)
    : c(of), context(new_context()), buffer(nullptr, ggml_backend_buffer_free), computer(c.threads) {
    if (c.sequences < 1 || c.kv_heads < 1 || c.threads < 1 || c.rows % c.sequences != 0 || c.cells % c.sequences != 0 || c.heads % c.kv_heads != 0 ||
        c.rows > c.cells || c.rows < 1) {
        throw ps::fault(PS_INVALID, "rows and cells have to be multiples of the sequences, heads of the KV heads");
    }
    auto *     ctx = context.get();
    const auto k_type = static_cast<ggml_type>(c.k_type), v_type = static_cast<ggml_type>(c.v_type);
    // As in llama.cpp, all heads of a token or cell side by side.
    const int64_t apart = c.spoiled ? 32 : 0;
    qs = new_rows(ctx, GGML_TYPE_F32, c.head_dim_k, c.heads, c.rows, apart);
    ks = new_rows(ctx, k_type, c.head_dim_k, c.kv_heads, c.cells, apart);
    vs = new_rows(ctx, v_type, c.head_dim_v, c.kv_heads, c.cells, apart);
    const auto by_head = [ctx](ggml_tensor * t) { return ggml_permute(ctx, t, 0, 2, 1, 3); };
    auto * const ms = ggml_new_tensor_2d(ctx, GGML_TYPE_F16, c.cells, c.rows);
    auto * const ss = c.sinks ? ggml_new_tensor_1d(ctx, GGML_TYPE_F32, c.heads) : nullptr;
    out = ggml_flash_attn_ext(ctx, by_head(qs), by_head(ks), by_head(vs), ms, 1 / std::sqrt(static_cast<float>(c.head_dim_k)), c.max_bias, c.soft_cap);
    ggml_flash_attn_ext_add_sinks(out, ss);
    buffer = allocate(ctx, ggml_backend_cpu_buffer_type());
    ps::use_huge_pages(buffer.get()); // as a context has them
    graph  = ggml_new_graph(ctx);
    ggml_build_forward_expand(graph, out);

    q = vectors(1, c.rows, c.heads, c.head_dim_k, [&](int64_t row) { return sequence_of(row) * 1000003 + position_of(row); });
    const auto name = [&](int64_t cell) { return cell % c.sequences * 1000003 + cell / c.sequences; };
    k = vectors(2, c.cells, c.kv_heads, c.head_dim_k, name);
    v = vectors(3, c.cells, c.kv_heads, c.head_dim_v, name);
    for (auto & x : q) {
        x *= 4; // so that some cells count much more than others
    }
    if (c.spoiled) {
        spoil_unseen();
    }
    put(qs, q);
    put(ks, k);
    put(vs, v);
    std::vector<float> mask;
    for (int64_t i = 0; i < int64_t(c.rows) * c.cells; i++) {
        mask.push_back(mask_of(i / c.cells, i % c.cells));
    }
    put(ms, mask);
    if (ss) {
        sinks = random_numbers{ 4 }.many(c.heads);
        for (auto & x : sinks) {
            x *= 6;
        }
        put(ss, sinks);
    }
}

std::vector<float> ps_attention::computed() { return computer.compute(graph, out, c.guard); }

void ps_attention::put_numbers(const float * queries, const float * keys, const float * values) {
    const auto replace = [](ggml_tensor * t, std::vector<float> & numbers, const float * by) {
        if (by) {
            std::copy_n(by, numbers.size(), numbers.begin());
            put(t, numbers);
        }
    };
    replace(qs, q, queries);
    replace(ks, k, keys);
    replace(vs, v, values);
}

void ps_attention::spoil_unseen() {
    for (int64_t cell = 0; cell < c.cells; cell++) {
        bool seen = false;
        for (int64_t row = 0; row < c.rows; row++) {
            seen = seen || sees(row, cell);
        }
        if (!seen) {
            std::fill_n(&k[cell * c.kv_heads * c.head_dim_k], c.kv_heads * c.head_dim_k, NAN);
            std::fill_n(&v[cell * c.kv_heads * c.head_dim_v], c.kv_heads * c.head_dim_v, NAN);
        }
    }
}

bool ps_attention::sees(int64_t row, int64_t cell) const {
    const int64_t position = cell / c.sequences, distance = position_of(row) - position;
    return cell % c.sequences == sequence_of(row) && distance >= 0 && (c.window == 0 || distance < c.window) && (position % 7 != 3 || distance == 0);
}

float ps_attention::mask_of(int64_t row, int64_t cell) const {
    if (!sees(row, cell)) {
        return -INFINITY;
    }
    return c.max_bias > 0 ? static_cast<float>(cell / c.sequences - position_of(row)) : 0.0f;
}

double ps_attention::score_of(int64_t row, int64_t head, int64_t cell) const {
    const int64_t kv_head = head / (c.heads / c.kv_heads);
    double        score   = 0;
    for (int64_t d = 0; d < c.head_dim_k; d++) {
        score += double(q[(row * c.heads + head) * c.head_dim_k + d]) * k[(cell * c.kv_heads + kv_head) * c.head_dim_k + d];
    }
    score /= std::sqrt(double(c.head_dim_k));
    if (c.soft_cap != 0) {
        score = c.soft_cap * std::tanh(score / c.soft_cap);
    }
    if (c.max_bias > 0) {
        int64_t regular = 1; // the largest power of two among the heads
        while (2 * regular <= c.heads) {
            regular *= 2;
        }
        const double slope = head < regular ? std::pow(2, -double(c.max_bias) * double(head + 1) / double(regular)) :
                                              std::pow(2, -double(c.max_bias) / 2 * double(2 * (head - regular) + 1) / double(regular));
        score += slope * double(ggml_fp16_to_fp32(ggml_fp32_to_fp16(mask_of(row, cell))));
    }
    return score;
}

std::vector<float> ps_attention::computed_plainly() const {
    std::vector<float> all;
    for (int64_t i = 0; i < int64_t(c.heads) * c.rows; i++) {
        const int64_t       head = i % c.heads, row = i / c.heads, kv_head = head / (c.heads / c.kv_heads);
        double              total = c.sinks ? std::exp(double(sinks[head])) : 0;
        std::vector<double> sum(c.head_dim_v);
        for (int64_t cell = 0; cell < c.cells; cell++) {
            if (!sees(row, cell)) {
                continue;
            }
            const double weight = std::exp(score_of(row, head, cell));
            total += weight;
            for (int64_t d = 0; d < c.head_dim_v; d++) {
                sum[d] += weight * v[(cell * c.kv_heads + kv_head) * c.head_dim_v + d];
            }
        }
        for (const double s : sum) {
            all.push_back(static_cast<float>(s / total));
        }
    }
    return all;
}

uint64_t ps_attention::read() const {
    std::vector<uint64_t>    sums(static_cast<size_t>(c.threads));
    std::vector<std::thread> threads;
    for (size_t i = 0; i < sums.size(); i++) {
        threads.emplace_back([&, i] {
            for (const ggml_tensor * t : { ks, vs }) {
                const auto * words = static_cast<const uint64_t *>(t->data);
                const size_t n     = ggml_nbytes(t) / sizeof(*words);
                sums[i] += std::accumulate(words + n * i / sums.size(), words + n * (i + 1) / sums.size(), uint64_t(0));
            }
        });
    }
    for (auto & thread : threads) {
        thread.join();
    }
    [[maybe_unused]] volatile uint64_t sum = std::accumulate(sums.begin(), sums.end(), uint64_t(0)); // so that the compiler has them read
    return ggml_nbytes(ks) + ggml_nbytes(vs);
}

int32_t ps_attention_new(const ps_attention_case * of, ps_attention ** to, ps_error * err) noexcept {
    return ps::guarded(err, [&] { *to = new ps_attention(*of); });
}

void ps_attention_free(ps_attention * a) noexcept { delete a; }

int32_t ps_attention_put(ps_attention * a, const float * queries, const float * keys, const float * values, ps_error * err) noexcept {
    return ps::guarded(err, [&] { a->put_numbers(queries, keys, values); });
}

int32_t ps_attention_read(const ps_attention * a, uint64_t * bytes, ps_error * err) noexcept {
    return ps::guarded(err, [&] { *bytes = a->read(); });
}

int32_t ps_attention_compute(ps_attention * a, int32_t plainly, float * out, ps_error * err) noexcept {
    return ps::guarded(err, [&] {
        const auto all = plainly ? a->computed_plainly() : a->computed();
        std::copy(all.begin(), all.end(), out);
    });
}
