// SPDX-License-Identifier: MIT
// The C face of sampling.
#include "sampling/chain.h"
#include "sampling/distribution.h"
#include "sampling/row.h"

#include "shim.h"

#include <algorithm>

struct ps_sampler {
    ps::chain   chain;
    ps::counted count{ ps::live_samplers };
};

int32_t ps_sampler_new(ps_model * model, const ps_sampler_params * p, const ps_sampler_lists * l, ps_sampler ** out,
                       ps_error * err) noexcept {
    return ps::guarded(err, [&] { *out = new ps_sampler{ ps::chain(model->vocab, *p, *l) }; });
}

void ps_sampler_free(ps_sampler * sampler) noexcept { delete sampler; }

int32_t ps_sampler_sample(ps_sampler * s, const float * row, size_t size, int32_t * token, ps_error * err) noexcept {
    return ps::guarded(err, [&] { *token = s->chain.sample(row, size); });
}

int32_t ps_sampler_apply(ps_sampler * s, const float * row, size_t size, const int32_t * ids, const float * logits,
                         int64_t n, int64_t * count, int32_t * chosen, ps_error * err) noexcept {
    return ps::guarded(err, [&] {
        const bool whole = n < 0;
        *chosen          = !whole ? s->chain.apply(ids, logits, static_cast<size_t>(n)) :
                           row    ? s->chain.apply(row, size) :
                                    s->chain.apply_taken();
        *count           = whole && s->chain.is_whole_row() ? -1 : static_cast<int64_t>(s->chain.n_candidates());
    });
}

int32_t ps_sampler_take(ps_sampler * s, const float * row, size_t size, bool * taken, ps_error * err) noexcept {
    return ps::guarded(err, [&] { *taken = s->chain.take(row, size); });
}

void ps_sampler_candidates(const ps_sampler * s, int32_t * ids, float * logits, size_t n) noexcept {
    s->chain.copy_candidates(ids, logits, n);
}

void ps_sampler_use_whole_rows(ps_sampler * s) noexcept { s->chain.use_whole_rows(); }

int32_t ps_sampler_accept(ps_sampler * s, int32_t token, ps_error * err) noexcept {
    return ps::guarded(err, [&] { s->chain.accept(token); });
}

int32_t ps_sampler_rewind(ps_sampler * s, const int32_t * history, size_t n, size_t n_prompt, ps_error * err) noexcept {
    return ps::guarded(err, [&] { s->chain.rewind(history, n, n_prompt); });
}

int32_t ps_top_k(const float * row, size_t n, int32_t k, int32_t * ids, float * logits) noexcept {
    try {
        static thread_local ps::top_logits                search;
        static thread_local std::vector<llama_token_data> found;
        if (k <= 0 || n == 0) {
            return 0;
        }
        search.highest(row, n, static_cast<size_t>(k), found);
        const size_t count = std::min(found.size(), static_cast<size_t>(k));
        std::partial_sort(found.begin(), found.begin() + static_cast<std::ptrdiff_t>(count), found.end(),
                          [](const auto & a, const auto & b) { return a.logit > b.logit || (a.logit == b.logit && a.id < b.id); });
        for (size_t i = 0; i < count; i++) {
            ids[i]    = found[i].id;
            logits[i] = found[i].logit;
        }
        return static_cast<int32_t>(count);
    } catch (...) {  // only memory can have run out
        return 0;
    }
}

void ps_distribution(const float * row, size_t n, float * log_sum, float * entropy) noexcept {
    const ps::distribution d = ps::distribution_of(row, n);
    *log_sum                 = d.log_sum;
    *entropy                 = d.entropy;
}

void ps_mask_row(float * to, const float * row, size_t n, const uint32_t * mask) noexcept { ps::mask_row(to, row, n, mask); }

size_t ps_first_invalid(const float * row, size_t n) noexcept { return ps::first_invalid(row, n); }
