// SPDX-License-Identifier: MIT
// Which bytes the cells of a sequence are: llama.cpp's own way to write and read a state tells it,
// without copying them.
#pragma once

#include "shim.h"

#include "llama-io.h"
#include "llama-memory.h"

#include <vector>

struct ps_context;

namespace ps {

// A part of a state: of the values in a tensor, or of the header, which is what llama.cpp writes
// besides.
struct state_part {
    ggml_tensor * tensor;  // null: of the header
    size_t        offset, size;
};

// Records the parts of a state, and of its bytes only the header.
class state_layout : public llama_io_write_i {
  public:
    std::vector<state_part> parts;
    std::vector<uint8_t>    header;

    state_layout(llama_memory_t memory, int32_t seq, llama_state_seq_flags flags = 0) { memory->state_write(*this, seq, flags); }

    void   write(const void * src, size_t size) override;
    void   write_tensor(ggml_tensor * tensor, size_t offset, size_t size) override;
    size_t n_bytes() override { return total; }
    size_t size() const { return total; }  // of all parts
    void   drop_header();

  private:
    size_t total = 0;
};

// Throws where the model keeps nothing between passes.
llama_memory_t memory_of(const ps_context * c);

}  // namespace ps
