// SPDX-License-Identifier: MIT
// Moves of a sequence: llama.cpp's own way to write and read a state says where the cells are; the copying is ours.
#include "context.h"

#include "ggml-backend.h"
#include "llama-io.h"
#include "llama-kv-cache-iswa.h"
#include "llama-kv-cache.h"

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

// Tells whether the cells of a sequence may be read while a pass works on others: they lie in the computer's own memory, and passes
// move none of them, as they do the states of recurrent layers.
bool readable_beside(llama_memory_t memory, const lister & io) {
    if (!dynamic_cast<llama_kv_cache *>(memory) && !dynamic_cast<llama_kv_cache_iswa *>(memory)) {
        return false;
    }
    return std::all_of(io.parts.begin(), io.parts.end(),
                       [](const part & p) { return !p.tensor || ggml_backend_buffer_is_host(p.tensor->buffer); });
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

// Gives llama.cpp what a state has besides the tensors, and notes where the rest belongs.
class taker : public llama_io_read_i {
  public:
    std::vector<part> targets;
    size_t            runs = 0;  // of cells: so many targets for each row of each tensor

    explicit taker(const std::vector<uint8_t> & bytes) : bytes(bytes) {}
    void read(void * dst, size_t size) override {
        if (size > bytes.size() - next) {
            throw ps::fault(PS_UNSUPPORTED, "the cells of this model are not laid out as expected");
        }
        std::memcpy(dst, bytes.data() + next, size);
        next += size;
        runs = runs ? runs : targets.size();
    }
    void   read_tensor(ggml_tensor * tensor, size_t at, size_t size) override { targets.push_back({ tensor, at, size }); }
    size_t n_bytes() override { return next; }

  private:
    const std::vector<uint8_t> & bytes;
    size_t                       next = 0;
};

uint32_t number(const std::vector<uint8_t> & bytes, size_t at) {
    uint32_t n = 0;
    if (at + sizeof(n) > bytes.size()) {
        throw ps::fault(PS_UNSUPPORTED, "the cells of this model are not laid out as expected");
    }
    std::memcpy(&n, bytes.data() + at, sizeof(n));
    return n;
}

// The bytes of a listed sequence, as if it had only its first n positions. A state begins with the number of streams; then come, for
// each, the number of cells, a record for each cell that begins with its position, and 20 bytes about the first tensor.
std::vector<uint8_t> shortened(const lister & io, uint32_t n) {
    const auto & bytes = io.bytes;
    size_t       at    = sizeof(uint32_t);
    while (number(bytes, at) == 0) {
        at += sizeof(uint32_t);
    }
    const uint32_t cells = number(bytes, at);
    at += sizeof(uint32_t);
    const size_t head   = io.parts.front().tensor ? 0 : io.parts.front().size;
    const size_t record = head < at + 20 ? 0 : (head - at - 20) / cells;
    if (n > cells || record < sizeof(uint32_t) || head != at + cells * record + 20) {
        throw ps::fault(PS_UNSUPPORTED, "the cells of this model are not laid out as expected");
    }
    for (uint32_t i = 0; i < n; i++) {
        if (number(bytes, at + i * record) != i) {
            throw ps::fault(PS_UNSUPPORTED, "the cells of the sequence do not lie in the order of its positions");
        }
    }
    std::vector<uint8_t> out(bytes.begin(), bytes.begin() + at + n * record);
    std::memcpy(out.data() + at - sizeof(n), &n, sizeof(n));
    out.insert(out.end(), bytes.begin() + at + cells * record, bytes.end());
    return out;
}

// Pairs each row of each tensor of the source with the target's, which has only the first cells of it.
std::vector<ps::piece> pairs(lister & src, taker & dst) {
    size_t runs = 0;
    while (runs + 1 < src.parts.size() && src.parts[runs + 1].tensor) {
        runs++;
    }
    src.keep_tensors();
    dst.runs = dst.runs ? dst.runs : dst.targets.size();
    std::vector<ps::piece> out;
    for (size_t row = 0; row * dst.runs < dst.targets.size(); row++) {
        size_t i = row * runs, within = 0;
        for (size_t k = row * dst.runs; k < (row + 1) * dst.runs; k++) {
            const part & to = dst.targets.at(k);
            for (size_t done = 0, size; done < to.size; done += size) {
                if (i >= (row + 1) * runs) {
                    throw ps::fault(PS_FAILED, "the cells of two sequences are not laid out alike");
                }
                const part & from = src.parts.at(i);
                size              = std::min(to.size - done, from.size - within);
                out.push_back({ from.tensor, from.at + within, to.tensor, to.at + done, size });
                within += size;
                if (within == from.size) {
                    i++, within = 0;
                }
            }
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
        // llama.cpp would keep the books of all cells of the source at once, and copy all their buffers with the next pass, whatever
        // either sequence is then. So dst is restored from a state that is never written: of the cells that are wanted.
        ps::log_capture capture;
        auto            from  = list(memory, src);
        const auto      bytes = shortened(from, static_cast<uint32_t>(n));
        taker           to(bytes);
        try {
            memory->state_read(to, dst);
            c->moving.begin(src, dst, n, nullptr, pairs(from, to));
        } catch (const std::exception & e) {
            memory->seq_rm(dst, -1, -1);
            throw ps::fault(PS_FAILED, capture.reason(e.what()));
        }
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
        c->moving.begin(seq, -1, state->positions, state->memory, std::move(pieces), readable_beside(memory, io));
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

void ps_state_free(ps_state * state) noexcept {
    if (state) {
        ps::let_go(std::move(state->memory));
    }
    delete state;
}

int32_t ps_move(ps_context * c, int64_t nanoseconds, bool * done, ps_error * err) noexcept {
    return ps::guarded(err, [&] {
        const auto now = std::chrono::steady_clock::now();
        *done          = c->moving.go_on(nanoseconds < 0 ? now.max() : now + std::chrono::nanoseconds(nanoseconds));
    });
}

int32_t ps_move_target(const ps_context * c) noexcept { return c->moving.target; }
