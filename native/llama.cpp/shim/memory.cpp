// SPDX-License-Identifier: MIT
// The KV cache of a context.
#include "context.h"

int32_t ps_memory_remove(ps_context * c, int32_t seq, int32_t p0, int32_t p1, ps_error * err) noexcept {
    return ps::guarded(err, [&] {
        c->check_sequence(seq);
        c->copy.finish_before_change(seq, p0);
        if (!llama_memory_seq_rm(llama_get_memory(c->context), seq, p0, p1)) {
            throw ps::fault(PS_FAILED, "this model's memory cannot drop a part of a sequence");
        }
    });
}

int32_t ps_memory_range(ps_context * c, int32_t seq, int32_t * first, int32_t * last, ps_error * err) noexcept {
    return ps::guarded(err, [&] {
        c->check_sequence(seq);
        auto * memory = llama_get_memory(c->context);
        *first        = llama_memory_seq_pos_min(memory, seq);
        *last         = llama_memory_seq_pos_max(memory, seq);
    });
}

int32_t ps_copy_continue(ps_context * c, int64_t nanoseconds, bool here, bool * done, ps_error * err) noexcept {
    return ps::guarded(err, [&] {
        const auto now = std::chrono::steady_clock::now();
        *done          = c->copy.advance(nanoseconds < 0 ? now.max() : now + std::chrono::nanoseconds(nanoseconds), here || nanoseconds < 0);
    });
}

int32_t ps_copy_target(const ps_context * c) noexcept { return c->copy.target; }
