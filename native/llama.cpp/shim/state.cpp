// SPDX-License-Identifier: MIT
// Saving the cells of a sequence to main memory, and restoring them.
#include "context.h"
#include "state_layout.h"

#include "ggml-backend.h"
#include "llama-kv-cache-iswa.h"
#include "llama-kv-cache.h"

#include <algorithm>

namespace {

// Gives llama.cpp the header of a saved state, and records where the values of its tensors belong.
class state_reader : public llama_io_read_i {
  public:
    std::vector<ps::extent> extents;

    explicit state_reader(const ps::pages & memory) : memory(memory) {}
    void read(void * dst, size_t size) override { std::memcpy(dst, memory.data() + skip(size), size); }
    void read_tensor(ggml_tensor * tensor, size_t offset, size_t size) override {
        extents.push_back({ nullptr, skip(size), tensor, offset, size });
    }
    size_t n_bytes() override { return next; }

  private:
    const ps::pages & memory;
    size_t            next = 0;

    size_t skip(size_t size) {
        if (size > memory.size() - next) {
            throw ps::fault(PS_INVALID, "the state ends too early");
        }
        next += size;
        return next - size;
    }
};

// Whether a pass leaves the cells of other sequences where they are: it moves the states of
// recurrent layers.
bool stays_during_passes(llama_memory_t memory) {
    return dynamic_cast<llama_kv_cache *>(memory) || dynamic_cast<llama_kv_cache_iswa *>(memory);
}

bool is_in_main_memory(const ps::state_layout & layout) {
    return std::all_of(layout.parts.begin(), layout.parts.end(),
                       [](const ps::state_part & p) { return !p.tensor || ggml_backend_buffer_is_host(p.tensor->buffer); });
}

// Restricts what a restored sequence is filled with to the cells that are left of it. Both lists go
// through the tensors in the same order; where they do not match, all is copied, which is only more
// than needed.
std::vector<ps::extent> restrict_to(const std::vector<ps::state_part> & left, const std::vector<ps::extent> & all) {
    std::vector<ps::extent> out;
    size_t                  i = 0;
    for (const auto & e : all) {
        const auto within = [&e](const ps::state_part & p) {
            return p.tensor == e.to && p.offset >= e.to_offset && p.offset + p.size <= e.to_offset + e.size;
        };
        for (; i < left.size() && within(left[i]); i++) {
            out.push_back({ nullptr, e.from_offset + (left[i].offset - e.to_offset), e.to, left[i].offset, left[i].size });
        }
    }
    return i == left.size() ? out : all;
}

// Restricts what a sequence is filled with, which has been cut since.
std::vector<ps::extent> restrict_to_sequence(llama_memory_t memory, int32_t seq, const std::vector<ps::extent> & all) {
    ps::state_layout left(memory, seq);
    left.drop_header();
    return restrict_to(left.parts, all);
}

// Has the head know the first n positions of what it has saved, if anything, and appends what its
// cells are filled with. A head that cannot read it has forgotten the sequence.
void restore_head(ps_context * head, int32_t seq, const ps_state * state, int32_t n, state_reader & reader) {
    const auto of_model = std::move(reader.extents);
    reader.extents.clear();
    try {
        if (reader.n_bytes() < state->memory->size()) {
            head->head->restore(seq, state->n_positions, reader);
            head->head->cut(seq, n);
        }
        if (n < state->n_positions && !reader.extents.empty()) {
            reader.extents = restrict_to_sequence(ps::memory_of(head), seq, reader.extents);
        }
    } catch (const std::exception &) {
        head->head->cut(seq, 0);
        reader.extents.clear();
    }
    reader.extents.insert(reader.extents.begin(), of_model.begin(), of_model.end());
}

}  // namespace

int32_t ps_state_save(ps_context * c, ps_context * head, int32_t seq, ps_state ** out, size_t * bytes, ps_error * err) noexcept {
    return ps::guarded(err, [&] {
        c->check_sequence(seq);
        auto * memory = ps::memory_of(c);
        c->copy.finish();
        ps::state_layout layout(memory, seq);
        auto             state = std::make_unique<ps_state>();
        state->n_positions     = llama_memory_seq_pos_max(memory, seq) + 1;
        if (head) {
            head->head->save(seq, state->n_positions, layout);
        }
        state->memory = std::make_shared<ps::pages>(layout.size());
        std::vector<ps::extent> extents;
        size_t                  at = 0;
        for (const auto & p : layout.parts) {
            if (p.tensor) {
                extents.push_back({ p.tensor, p.offset, nullptr, at, p.size });
            } else {
                std::memcpy(state->memory->data() + at, layout.header.data() + p.offset, p.size);
            }
            at += p.size;
        }
        *bytes = state->memory->allocated();
        const bool on_thread = stays_during_passes(memory) && (!head || stays_during_passes(ps::memory_of(head))) && is_in_main_memory(layout);
        c->copy.begin(memory, seq, -1, state->n_positions, state->memory, std::move(extents), on_thread);
        *out = state.release();
    });
}

int32_t ps_state_restore(ps_context * c, ps_context * head, int32_t seq, const ps_state * state, int32_t n, ps_error * err) noexcept {
    return ps::guarded(err, [&] {
        c->check_sequence(seq);
        auto * memory = ps::memory_of(c);
        c->copy.finish();
        ps::log_capture capture;
        state_reader    reader(*state->memory);
        if (head) {
            head->head->cut(seq, 0);
        }
        try {
            memory->state_read(reader, seq);
            const int32_t last = llama_memory_seq_pos_max(memory, seq);
            if (last < 0 || last >= state->n_positions || (last + 1 < state->n_positions && !c->has_coordinates())) {
                throw ps::fault(PS_INVALID, "the state has another number of positions");
            }
            if (n < state->n_positions) {
                if (!memory->seq_rm(seq, n, -1)) {
                    throw ps::fault(PS_FAILED, "this model's memory cannot drop a part of a sequence");
                }
                reader.extents = restrict_to_sequence(memory, seq, reader.extents);
            }
        } catch (const std::exception & e) {
            memory->seq_rm(seq, -1, -1);
            throw ps::fault(PS_FAILED, capture.reason(e.what()));
        }
        if (head) {
            restore_head(head, seq, state, n, reader);
        }
        c->copy.begin(memory, -1, seq, std::min(n, state->n_positions), state->memory, std::move(reader.extents));
    });
}

int32_t ps_state_new(size_t size, int32_t n_positions, ps_state ** out, size_t * bytes, ps_error * err) noexcept {
    return ps::guarded(err, [&] {
        auto state         = std::make_unique<ps_state>();
        state->memory      = std::make_shared<ps::pages>(size);
        state->n_positions = n_positions;
        *bytes             = state->memory->allocated();
        *out               = state.release();
    });
}

uint8_t * ps_state_data(const ps_state * state, size_t * size) noexcept {
    *size = state->memory->size();
    return state->memory->data();
}

void ps_state_free(ps_state * state) noexcept {
    if (state) {
        ps::release(std::move(state->memory));
    }
    delete state;
}
