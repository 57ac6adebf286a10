// SPDX-License-Identifier: MIT
// The KV memory of a context, and the state of one sequence of it.
#include "context.h"

int32_t ps_memory_remove(ps_context * c, int32_t seq, int32_t p0, int32_t p1, ps_error * err) noexcept {
    return ps::guarded(err, [&] {
        c->check_sequence(seq);
        if (!llama_memory_seq_rm(llama_get_memory(c->context), seq, p0, p1)) {
            throw ps::fault(PS_FAILED, "this model's memory cannot drop a part of a sequence");
        }
    });
}

int32_t ps_memory_copy(ps_context * c, int32_t src, int32_t dst, int32_t p0, int32_t p1, ps_error * err) noexcept {
    return ps::guarded(err, [&] {
        c->check_sequence(src);
        c->check_sequence(dst);
        // Between streams llama.cpp copies whole buffers and asserts on a part.
        if (!c->unified && src != dst && (p0 > 0 || p1 >= 0)) {
            throw ps::fault(PS_FAILED, "a context without unified memory copies whole sequences only");
        }
        llama_memory_seq_cp(llama_get_memory(c->context), src, dst, p0, p1);
    });
}

int32_t ps_memory_keep(ps_context * c, int32_t seq, ps_error * err) noexcept {
    return ps::guarded(err, [&] {
        c->check_sequence(seq);
        // llama.cpp's own seq_keep leaves other streams as they are, so it is done one by one.
        for (int32_t other = 0; other < c->limits.sequences; other++) {
            if (other != seq) {
                llama_memory_seq_rm(llama_get_memory(c->context), other, -1, -1);
            }
        }
    });
}

int32_t ps_memory_clear(ps_context * c, bool data, ps_error * err) noexcept {
    return ps::guarded(err, [&] { llama_memory_clear(llama_get_memory(c->context), data); });
}

int32_t ps_memory_range(ps_context * c, int32_t seq, int32_t * first, int32_t * last, ps_error * err) noexcept {
    return ps::guarded(err, [&] {
        c->check_sequence(seq);
        auto * memory = llama_get_memory(c->context);
        *first        = llama_memory_seq_pos_min(memory, seq);
        *last         = llama_memory_seq_pos_max(memory, seq);
    });
}

int32_t ps_state_size(ps_context * c, int32_t seq, size_t * size, ps_error * err) noexcept {
    return ps::guarded(err, [&] {
        c->check_sequence(seq);
        *size = llama_state_seq_get_size(c->context, seq);
    });
}

int32_t ps_state_save(ps_context * c, int32_t seq, uint8_t * dst, size_t size, size_t * written, ps_error * err) noexcept {
    return ps::guarded(err, [&] {
        c->check_sequence(seq);
        ps::log_capture capture;
        *written = llama_state_seq_get_data(c->context, dst, size, seq);
        if (*written == 0) {
            throw ps::fault(PS_FAILED, capture.reason("the state of the sequence could not be saved"));
        }
    });
}

int32_t ps_state_restore(ps_context * c, int32_t seq, const uint8_t * src, size_t size, ps_error * err) noexcept {
    return ps::guarded(err, [&] {
        c->check_sequence(seq);
        ps::log_capture capture;
        if (llama_state_seq_set_data(c->context, src, size, seq) == 0) {
            throw ps::fault(PS_FAILED, capture.reason("the state of the sequence could not be restored"));
        }
    });
}
