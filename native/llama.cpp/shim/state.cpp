// SPDX-License-Identifier: MIT
// Moves of a sequence: llama.cpp's own way to write and read a state says where the cells are; the copying is ours.
#include "context.h"

#include "llama-io.h"
#include "llama-memory.h"

#include <algorithm>

namespace {

// A part of a state: bytes, or what a tensor holds.
struct part {
    ggml_tensor * tensor;  // null: bytes
    size_t        at, size;  // in the tensor, or in the bytes
};

// Notes what a state consists of and copies only the bytes that are in no tensor.
class lister : public llama_io_write_i {
  public:
    std::vector<part>    parts;
    std::vector<uint8_t> bytes;

    void write(const void * src, size_t size) override {
        if (!parts.empty() && !parts.back().tensor) {
            parts.back().size += size;
        } else {
            parts.push_back({ nullptr, bytes.size(), size });
        }
        const auto * p = static_cast<const uint8_t *>(src);
        bytes.insert(bytes.end(), p, p + size);
        total += size;
    }
    void write_tensor(ggml_tensor * tensor, size_t at, size_t size) override {
        parts.push_back({ tensor, at, size });
        total += size;
    }
    size_t n_bytes() override { return total; }
    void   keep_tensors() {
        parts.erase(std::remove_if(parts.begin(), parts.end(), [](const part & p) { return !p.tensor; }), parts.end());
    }

  private:
    size_t total = 0;
};

// Gives llama.cpp the bytes of a state and notes where the rest belongs.
class placer : public llama_io_read_i {
  public:
    std::vector<ps::piece> pieces;

    explicit placer(const ps::pages & memory) : memory(memory) {}
    void read(void * dst, size_t size) override { std::memcpy(dst, memory.data() + take(size), size); }
    void read_tensor(ggml_tensor * tensor, size_t at, size_t size) override {
        pieces.push_back({ nullptr, take(size), tensor, at, size });
    }
    size_t n_bytes() override { return next; }

  private:
    const ps::pages & memory;
    size_t            next = 0;

    size_t take(size_t size) {
        if (size > memory.size() - next) {
            throw ps::fault(PS_INVALID, "the state ends too early");
        }
        next += size;
        return next - size;
    }
};

llama_memory_t memory_of(const ps_context * c) {
    auto * memory = llama_get_memory(c->context);
    if (!memory) {
        throw ps::fault(PS_UNSUPPORTED, "this model keeps nothing between passes");
    }
    return memory;
}

lister list(llama_memory_t memory, int32_t seq) {
    lister io;
    memory->state_write(io, seq);
    return io;
}

// Restricts the pieces of a restored sequence to the cells that are left of it. Both lists go through the tensors in the same
// order; where they do not match, all is copied, which is only more than needed.
std::vector<ps::piece> only(const std::vector<part> & left, const std::vector<ps::piece> & all) {
    std::vector<ps::piece> out;
    size_t                 i = 0;
    for (const auto & p : all) {
        for (; i < left.size() && left[i].tensor == p.to && left[i].at >= p.to_at && left[i].at + left[i].size <= p.to_at + p.size; i++) {
            out.push_back({ nullptr, p.from_at + (left[i].at - p.to_at), p.to, left[i].at, left[i].size });
        }
    }
    return i == left.size() ? out : all;
}

// Pairs the cells of dst with those of src, which has them at the same places of its own tensors.
std::vector<ps::piece> pairs(const std::vector<part> & src, const std::vector<part> & dst) {
    std::vector<ps::piece> out;
    size_t                 i = 0;
    for (size_t k = 0; k < dst.size(); k++) {
        if (k > 0 && dst[k].tensor != dst[k - 1].tensor) {  // and so is the next of the source
            for (const auto * last = src[i].tensor; i < src.size() && src[i].tensor == last;) {
                i++;
            }
        }
        if (i == src.size() || !ggml_are_same_shape(src[i].tensor, dst[k].tensor)) {
            throw ps::fault(PS_FAILED, "the cells of two sequences are not laid out alike");
        }
        if (src[i].tensor != dst[k].tensor) {
            out.push_back({ src[i].tensor, dst[k].at, dst[k].tensor, dst[k].at, dst[k].size });
        }
    }
    return out;
}

}  // namespace

int32_t ps_memory_share(ps_context * c, int32_t src, int32_t dst, int32_t n, ps_error * err) noexcept {
    return ps::guarded(err, [&] {
        c->check_sequence(src);
        c->check_sequence(dst);
        auto * memory = memory_of(c);
        if (c->unified || src == dst) {
            const bool whole = n > memory->seq_pos_max(src);  // some memories copy nothing else, and assert that
            memory->seq_cp(src, dst, whole ? -1 : 0, whole ? -1 : n);
            return;
        }
        c->moving.finish();
        // llama.cpp keeps the books at once, and would copy all cells of the source with the next pass, whatever either sequence
        // is then. The queue is thrown away, and the cells that are wanted are copied here.
        memory->seq_cp(src, dst, -1, -1);
        memory->init_update(c->context, false);
        memory->seq_rm(dst, n, -1);
        auto from = list(memory, src), to = list(memory, dst);
        from.keep_tensors();
        to.keep_tensors();
        c->moving.begin(src, dst, n, nullptr, pairs(from.parts, to.parts));
    });
}

int32_t ps_state_save(ps_context * c, int32_t seq, ps_state ** out, size_t * taken, ps_error * err) noexcept {
    return ps::guarded(err, [&] {
        c->check_sequence(seq);
        auto * memory = memory_of(c);
        c->moving.finish();
        auto io          = list(memory, seq);
        auto state       = std::make_unique<ps_state>();
        state->memory    = std::make_shared<ps::pages>(io.n_bytes());
        state->positions = llama_memory_seq_pos_max(memory, seq) + 1;
        std::vector<ps::piece> pieces;
        size_t                 at = 0;
        for (const auto & p : io.parts) {
            if (p.tensor) {
                pieces.push_back({ p.tensor, p.at, nullptr, at, p.size });
            } else {
                std::memcpy(state->memory->data() + at, io.bytes.data() + p.at, p.size);
            }
            at += p.size;
        }
        *taken = state->memory->taken();
        c->moving.begin(seq, -1, state->positions, state->memory, std::move(pieces));
        *out = state.release();
    });
}

int32_t ps_state_restore(ps_context * c, int32_t seq, const ps_state * state, int32_t n, ps_error * err) noexcept {
    return ps::guarded(err, [&] {
        c->check_sequence(seq);
        auto * memory = memory_of(c);
        c->moving.finish();
        ps::log_capture capture;
        placer          io(*state->memory);
        try {
            memory->state_read(io, seq);
            if (n < state->positions) {
                if (!memory->seq_rm(seq, n, -1)) {
                    throw ps::fault(PS_FAILED, "this model's memory cannot drop a part of a sequence");
                }
                auto left = list(memory, seq);
                left.keep_tensors();
                io.pieces = only(left.parts, io.pieces);
            }
        } catch (const std::exception & e) {
            memory->seq_rm(seq, -1, -1);
            throw ps::fault(PS_FAILED, capture.reason(e.what()));
        }
        c->moving.begin(-1, seq, std::min(n, state->positions), state->memory, std::move(io.pieces));
    });
}

void ps_state_free(ps_state * state) noexcept { delete state; }

int32_t ps_move(ps_context * c, int64_t nanoseconds, bool * done, ps_error * err) noexcept {
    return ps::guarded(err, [&] {
        const auto now = std::chrono::steady_clock::now();
        *done          = c->moving.go_on(nanoseconds < 0 ? now.max() : now + std::chrono::nanoseconds(nanoseconds));
    });
}

int32_t ps_move_target(const ps_context * c) noexcept { return c->moving.target; }
