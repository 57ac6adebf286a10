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

// The header of a sequence as if it had only its first n positions. A header begins with the number
// of streams; then come, for each, the number of cells, a record for each cell that begins with its
// position, and 20 bytes about the first tensor. The cells of a picture may have one position
// together, and what follows it one that is several further on.
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

// Where the values of a sequence lie: so many runs for each row of each tensor, which together have
// the sequence's cells in their order.
struct cell_rows {
    std::vector<ps::state_part> runs;
    size_t                      per_row = 0;

    explicit cell_rows(ps::state_layout && layout) {
        while (per_row + 1 < layout.parts.size() && layout.parts[per_row + 1].tensor) {
            per_row++;
        }
        layout.drop_header();
        runs = std::move(layout.parts);
    }
    explicit cell_rows(header_reader && read) : runs(std::move(read.targets)), per_row(read.n_runs ? read.n_runs : runs.size()) {}

    size_t row_size(size_t row) const {
        size_t size = 0;
        for (size_t k = row * per_row; k < (row + 1) * per_row; k++) {
            size += runs.at(k).size;
        }
        return size;
    }
};

// Pairs each row of the target with the source's, which has at least as many cells. Of the target's
// n cells the first n_skipped are left out.
std::vector<ps::extent> pair_rows(const cell_rows & source, const cell_rows & target, size_t n = 1, size_t n_skipped = 0) {
    std::vector<ps::extent> out;
    for (size_t row = 0; row * target.per_row < target.runs.size(); row++) {
        size_t i = row * source.per_row, used = 0;  // the source's run, and how much of it is paired
        size_t skip = n_skipped == 0 ? 0 : target.row_size(row) / n * n_skipped;
        for (size_t k = row * target.per_row; k < (row + 1) * target.per_row; k++) {
            const ps::state_part & to = target.runs.at(k);
            for (size_t done = 0, size; done < to.size; done += size) {
                if (i >= (row + 1) * source.per_row) {
                    throw ps::fault(PS_FAILED, "the cells of two sequences are not laid out alike");
                }
                const ps::state_part & from    = source.runs.at(i);
                size                           = std::min(to.size - done, from.size - used);
                const size_t           skipped = std::min(size, skip);
                if (skipped < size) {
                    out.push_back({ from.tensor, from.offset + used + skipped, to.tensor, to.offset + done + skipped, size - skipped });
                }
                skip -= skipped;
                used += size;
                if (used == from.size) {
                    i++, used = 0;
                }
            }
        }
    }
    return out;
}

// Reports whether the cells of one layout are the first of another, in the same places.
bool lie_where_they_lay(const cell_rows & before, const cell_rows & now) {
    const auto pairs = pair_rows(now, before);
    return std::all_of(pairs.begin(), pairs.end(), [](const auto & e) { return e.from == e.to && e.from_offset == e.to_offset; });
}

// Gives dst, in a stream of its own, the first n cells of src, and begins to copy those that it has
// not got. seq_cp would update its records of all cells of the source at once, and copy all their
// buffers with the next pass, whatever either sequence is then. So dst is restored from the state
// of the wanted cells, of which only the header is ever written.
void copy_cells(ps_context * c, llama_memory_t memory, int32_t src, int32_t dst, int32_t n, int32_t n_has) {
    ps::state_layout source(memory, src);
    const cell_rows  before(ps::state_layout(memory, dst));
    const auto       header = truncated_header(source, static_cast<uint32_t>(n));
    header_reader    target(header);
    memory->state_read(target, dst);
    const cell_rows from(std::move(source)), to(std::move(target));
    if (n_has > 0 && !lie_where_they_lay(before, to)) {
        n_has = 0;
    }
    c->copy.begin(memory, src, dst, n, nullptr, pair_rows(from, to, static_cast<size_t>(n), static_cast<size_t>(n_has)));
}

}  // namespace

int32_t ps_memory_share(ps_context * c, int32_t src, int32_t dst, int32_t n, ps_error * err) noexcept {
    return ps::guarded(err, [&] {
        c->check_sequence(src);
        c->check_sequence(dst);
        auto *        memory = ps::memory_of(c);
        const int32_t n_has  = src == dst ? 0 : memory->seq_pos_max(dst) + 1;
        if (n_has > n) {
            throw ps::fault(PS_INVALID, "the sequence has more positions than it is to share");
        }
        if (c->unified || src == dst) {
            const bool whole = n > memory->seq_pos_max(src);  // some memories copy nothing else, and assert that
            memory->seq_cp(src, dst, n_has > 0 ? n_has : whole ? -1 : 0, whole ? -1 : n);
            return;
        }
        c->copy.finish();
        ps::log_capture capture;
        try {
            copy_cells(c, memory, src, dst, n, n_has);
        } catch (const ps::fault &) {
            memory->seq_rm(dst, -1, -1);
            throw;
        } catch (const std::exception & e) {
            memory->seq_rm(dst, -1, -1);
            throw ps::fault(PS_FAILED, capture.reason(e.what()));
        }
    });
}
