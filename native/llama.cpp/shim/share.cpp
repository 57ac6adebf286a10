// SPDX-License-Identifier: MIT
// Sharing a prefix: one sequence begins with the first cells of another.
#include "context.h"
#include "state_layout.h"

#include <algorithm>

namespace {

// Gives llama.cpp the header of a state, and records where the values of its tensors belong.
class header_reader : public llama_io_read_i {
  public:
    std::vector<ps::state_part> targets;
    size_t                      n_runs = 0;  // of cells that lie side by side: so many targets for each row of each tensor

    explicit header_reader(const std::vector<uint8_t> & header) : header(header) {}
    void read(void * dst, size_t size) override {
        if (size > header.size() - next) {
            throw ps::fault(PS_UNSUPPORTED, "the cells of this model are not laid out as expected");
        }
        std::memcpy(dst, header.data() + next, size);
        next += size;
        n_runs = n_runs ? n_runs : targets.size();
    }
    void   read_tensor(ggml_tensor * tensor, size_t offset, size_t size) override { targets.push_back({ tensor, offset, size }); }
    size_t n_bytes() override { return next; }

  private:
    const std::vector<uint8_t> & header;
    size_t                       next = 0;
};

uint32_t number_at(const std::vector<uint8_t> & header, size_t at) {
    uint32_t n = 0;
    if (at + sizeof(n) > header.size()) {
        throw ps::fault(PS_UNSUPPORTED, "the cells of this model are not laid out as expected");
    }
    std::memcpy(&n, header.data() + at, sizeof(n));
    return n;
}

// The header of a sequence as if it had only its first n positions. A header begins with the number of streams; then come, for each, the
// number of cells, a record for each cell that begins with its position, and 20 bytes about the first tensor. The cells of a picture may
// have one position together, and what follows it one that is several further on.
std::vector<uint8_t> truncated_header(const ps::state_layout & layout, uint32_t n) {
    const auto & header = layout.header;
    size_t       at     = sizeof(uint32_t);
    while (number_at(header, at) == 0) {
        at += sizeof(uint32_t);
    }
    const uint32_t cells = number_at(header, at);
    at += sizeof(uint32_t);
    const size_t size   = layout.parts.front().tensor ? 0 : layout.parts.front().size;  // up to the first tensor's values
    const size_t record = size < at + 20 ? 0 : (size - at - 20) / cells;
    if (record < sizeof(uint32_t) || size != at + cells * record + 20) {
        throw ps::fault(PS_UNSUPPORTED, "the cells of this model are not laid out as expected");
    }
    uint32_t kept = 0, last = 0;
    for (uint32_t i = 0; i < cells; i++) {
        const uint32_t position = number_at(header, at + i * record);
        if (position < last) {
            throw ps::fault(PS_UNSUPPORTED, "the cells of the sequence do not lie in the order of its positions");
        }
        last = position;
        kept += position < n ? 1 : 0;
    }
    if (kept == 0) {
        throw ps::fault(PS_INVALID, "the sequence has none of the positions below " + std::to_string(n));
    }
    std::vector<uint8_t> out(header.begin(), header.begin() + at + kept * record);
    std::memcpy(out.data() + at - sizeof(kept), &kept, sizeof(kept));
    out.insert(out.end(), header.begin() + at + cells * record, header.end());
    return out;
}

// Pairs each row of each tensor of the source with the target's, which has only the first cells of it.
std::vector<ps::extent> pair_rows(ps::state_layout & source, header_reader & target) {
    size_t n_runs = 0;
    while (n_runs + 1 < source.parts.size() && source.parts[n_runs + 1].tensor) {
        n_runs++;
    }
    source.drop_header();
    target.n_runs = target.n_runs ? target.n_runs : target.targets.size();
    std::vector<ps::extent> out;
    for (size_t row = 0; row * target.n_runs < target.targets.size(); row++) {
        size_t i = row * n_runs, used = 0;  // the source's run, and how much of it is paired
        for (size_t k = row * target.n_runs; k < (row + 1) * target.n_runs; k++) {
            const ps::state_part & to = target.targets.at(k);
            for (size_t done = 0, size; done < to.size; done += size) {
                if (i >= (row + 1) * n_runs) {
                    throw ps::fault(PS_FAILED, "the cells of two sequences are not laid out alike");
                }
                const ps::state_part & from = source.parts.at(i);
                size                        = std::min(to.size - done, from.size - used);
                out.push_back({ from.tensor, from.offset + used, to.tensor, to.offset + done, size });
                used += size;
                if (used == from.size) {
                    i++, used = 0;
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
        auto * memory = ps::memory_of(c);
        if (c->unified || src == dst) {
            const bool whole = n > memory->seq_pos_max(src);  // some memories copy nothing else, and assert that
            memory->seq_cp(src, dst, whole ? -1 : 0, whole ? -1 : n);
            return;
        }
        c->copy.finish();
        // seq_cp would update its records of all cells of the source at once, and copy all their buffers with the next pass, whatever
        // either sequence is then. So dst is restored from the state of the wanted cells, of which only the header is ever written.
        ps::log_capture  capture;
        ps::state_layout source(memory, src);
        const auto       header = truncated_header(source, static_cast<uint32_t>(n));
        header_reader    target(header);
        try {
            memory->state_read(target, dst);
            c->copy.begin(src, dst, n, nullptr, pair_rows(source, target));
        } catch (const std::exception & e) {
            memory->seq_rm(dst, -1, -1);
            throw ps::fault(PS_FAILED, capture.reason(e.what()));
        }
    });
}
