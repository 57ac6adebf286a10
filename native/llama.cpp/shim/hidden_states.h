// SPDX-License-Identifier: MIT
// The hidden states of a pass's output rows: what the last layer gives, after the norm and before
// the vocabulary, or what any layer gives, before the next. llama.cpp gives them beside logits only
// for every token of a pass, which would compute every token's logits, and of layers only some
// architectures' inputs, ending the process for others. Its graphs have them, so they are copied
// from there, and a pass in which nobody asks for them is as it was.
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

    // How many layers there are, if the graphs name what each of them gives, and it is as wide as
    // the states; else 0.
    static int32_t layers_of(const llama_context * context);

    // The logits of the last pass, if a device has them all, in batch order; else null. It comes
    // before they are looked at, which puts them in order.
    static const ggml_tensor * logits_on_device(llama_context * context, size_t rows);

    // Collects those of the next passes, of so many rows each, until the collector is gone: of each
    // of the layers, which count from 1, or of the last one after the norm, which is 0.
    class collector {
      public:
        collector(hidden_states & to, llama_context * context, size_t rows, size_t width, const int32_t * layers, size_t n);
        ~collector();
        collector(const collector &)             = delete;
        collector & operator=(const collector &) = delete;

        // For each of the layers the first of the pass's rows, in batch order; null if a graph did
        // not have them. It comes before the pass's logits are looked at.
        float ** rows();

      private:
        hidden_states & states;
        llama_context * context;
        size_t          wanted;
    };

  private:
    struct layer {
        int32_t            number = 0;
        size_t             taken  = 0; // rows
        std::vector<float> values;
    };

    static bool on_node(ggml_tensor * node, bool ask, void * self) noexcept;
    layer *     given_by(const ggml_tensor * node, const ggml_tensor * logits);
    void        take(layer & to, const ggml_tensor * of, int64_t rows);

    const llama_context * context = nullptr;
    size_t                width   = 0;
    size_t                wanted  = 0;     // of the layers, the first so many
    bool                  lost    = false; // a graph did not have them
    std::vector<layer>    layers;          // the others keep their memory for later passes
    std::vector<float *>  first;           // for each layer its first row
};

}  // namespace ps
