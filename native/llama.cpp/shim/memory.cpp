// SPDX-License-Identifier: MIT
// The KV memory of a context. A move that is on its way is finished before what it reads or writes is changed.
#include "context.h"

int32_t ps_memory_remove(ps_context * c, int32_t seq, int32_t p0, int32_t p1, ps_error * err) noexcept {
    return ps::guarded(err, [&] {
        c->check_sequence(seq);
        c->moving.before_change(seq, p0);
        if (!llama_memory_seq_rm(llama_get_memory(c->context), seq, p0, p1)) {
            throw ps::fault(PS_FAILED, "this model's memory cannot drop a part of a sequence");
        }
    });
}

int32_t ps_memory_keep(ps_context * c, int32_t seq, ps_error * err) noexcept {
    return ps::guarded(err, [&] {
        c->check_sequence(seq);
        c->moving.finish();
        // llama.cpp's own seq_keep leaves other streams as they are, so it is done one by one.
        for (int32_t other = 0; other < c->limits.sequences; other++) {
            if (other != seq) {
                llama_memory_seq_rm(llama_get_memory(c->context), other, -1, -1);
            }
        }
    });
}

int32_t ps_memory_clear(ps_context * c, bool data, ps_error * err) noexcept {
    return ps::guarded(err, [&] {
        c->moving.finish();
        llama_memory_clear(llama_get_memory(c->context), data);
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
