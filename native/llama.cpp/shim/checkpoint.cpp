// SPDX-License-Identifier: MIT
// Checkpoints: copies of the part of a sequence that cannot be cut, so that the sequence can be cut
// where one was taken.
#include "context.h"
#include "state_layout.h"

#include "ggml-backend.h"
#include "llama-kv-cache-iswa.h"
#include "llama-memory-hybrid-iswa.h"
#include "llama-memory-hybrid.h"
#include "llama-memory-recurrent.h"

namespace {

// Reads a checkpoint, values included.
class checkpoint_reader : public llama_io_read_i {
  public:
    explicit checkpoint_reader(const ps::pages & memory) : memory(memory) {}
    void read(void * dst, size_t size) override { std::memcpy(dst, skip(size), size); }
    void read_tensor(ggml_tensor * tensor, size_t offset, size_t size) override {
        ggml_backend_tensor_set(tensor, skip(size), offset, size);
    }
    size_t n_bytes() override { return next; }

  private:
    const ps::pages & memory;
    size_t            next = 0;

    const uint8_t * skip(size_t size) {
        if (size > memory.size() - next) {
            throw ps::fault(PS_INVALID, "the checkpoint ends too early");
        }
        next += size;
        return memory.data() + next - size;
    }
};

// Of other memories, llama.cpp's partial states are whole ones, or it is not known what they leave
// out.
llama_memory_t partial_memory_of(const ps_context * c) {
    auto * memory = ps::memory_of(c);
    if (!dynamic_cast<llama_memory_recurrent *>(memory) && !dynamic_cast<llama_memory_hybrid *>(memory) &&
        !dynamic_cast<llama_memory_hybrid_iswa *>(memory) && !dynamic_cast<llama_kv_cache_iswa *>(memory)) {
        throw ps::fault(PS_UNSUPPORTED, "this model's memory has no part to take a checkpoint of");
    }
    return memory;
}

}  // namespace

int32_t ps_checkpoint_save(ps_context * c, int32_t seq, ps_state * spent, ps_state ** out, size_t * bytes, ps_error * err) noexcept {
    return ps::guarded(err, [&] {
        c->check_sequence(seq);
        auto * memory = partial_memory_of(c);
        c->copy.finish_before_change(seq, 0);  // what fills it
        const ps::state_layout layout(memory, seq, LLAMA_STATE_SEQ_FLAGS_PARTIAL_ONLY);
        auto                   state = std::make_unique<ps_state>();
        // New pages cost more than the copy into them.
        const bool fits = spent && spent->memory && spent->memory.use_count() == 1 && spent->memory->size() == layout.size();
        state->memory      = fits ? std::move(spent->memory) : std::make_shared<ps::pages>(layout.size());
        state->n_positions = llama_memory_seq_pos_max(memory, seq) + 1;
        uint8_t * to       = state->memory->data();
        for (const auto & p : layout.parts) {
            if (p.tensor) {
                ggml_backend_tensor_get(p.tensor, to, p.offset, p.size);
            } else {
                std::memcpy(to, layout.header.data() + p.offset, p.size);
            }
            to += p.size;
        }
        *bytes = state->memory->allocated();
        *out   = state.release();
    });
}

int32_t ps_checkpoint_restore(ps_context * c, int32_t seq, const ps_state * checkpoint, int32_t n, ps_error * err) noexcept {
    return ps::guarded(err, [&] {
        c->check_sequence(seq);
        auto * memory = partial_memory_of(c);
        if (checkpoint->n_positions != n) {
            throw ps::fault(PS_INVALID, "the checkpoint has " + std::to_string(checkpoint->n_positions) + " positions, not " + std::to_string(n));
        }
        c->copy.finish_before_change(seq, 0);
        ps::log_capture   capture;
        checkpoint_reader reader(*checkpoint->memory);
        try {
            memory->state_read(reader, seq, LLAMA_STATE_SEQ_FLAGS_PARTIAL_ONLY);
            if (!memory->seq_rm(seq, n, -1) || llama_memory_seq_pos_max(memory, seq) + 1 != n) {
                throw ps::fault(PS_FAILED, "the sequence cannot be cut where the checkpoint was taken");
            }
        } catch (const std::exception & e) {
            memory->seq_rm(seq, -1, -1);
            throw ps::fault(PS_FAILED, capture.reason(e.what()));
        }
    });
}
