// SPDX-License-Identifier: MIT
// The hidden states of a pass's output rows: what the last layer gives, after the norm and before
// the vocabulary. llama.cpp gives them beside logits only for every token of a pass, which would
// compute every token's logits. Its graphs keep them until the next one, so they are copied from
// there, and a pass in which nobody asks for them is as it was.
#pragma once

#include "llama.h"

#include <cstddef>
#include <cstdint>
#include <vector>

struct ggml_tensor;

namespace ps {

class hidden_states {
  public:
    // How wide the states of a context's model are; 0 if its graphs have none, or not of the output
    // rows alone.
    static int32_t width_of(const llama_context * context);

    // Collects those of the next passes, of so many rows each, until the collector is gone.
    class collector {
      public:
        collector(hidden_states & to, llama_context * context, size_t rows, size_t width);
        ~collector();
        collector(const collector &)             = delete;
        collector & operator=(const collector &) = delete;

        // The first of the pass's rows, in batch order; null if a graph did not have them. It comes
        // before the pass's logits are looked at.
        float * rows();

      private:
        hidden_states & states;
        llama_context * context;
        size_t          wanted;
    };

  private:
    static bool on_node(ggml_tensor * node, bool ask, void * self) noexcept;
    void        take(const ggml_tensor * of, int64_t rows);

    const llama_context * context = nullptr;
    size_t                width   = 0;
    size_t                taken   = 0;     // rows
    bool                  lost    = false; // a graph did not have them
    std::vector<float>    values;
};

}  // namespace ps
