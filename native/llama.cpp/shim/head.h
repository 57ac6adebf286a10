// SPDX-License-Identifier: MIT
// Heads: layers that guess further tokens (llama.cpp calls them nextn or MTP). A head is a context
// of the same model, where they are in the model's own file, or of another. It reads each token
// together with the hidden state that the model had at the one before, and gives the logits of the
// token after. Gemma's reads only the last one, and the cells of the model itself. EAGLE-3 reads,
// in place of the hidden state, what an encoder of its own makes of the inputs of some layers.
// DFlash fills its cells with what it makes of these inputs, and guesses a block of tokens in one
// pass. Of a chain of heads the first guesses the token after the next, the second the one after
// that, and so on.
#pragma once

#include "shim.h"

#include "llama-batch.h"
#include "llama-io.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <memory>
#include <vector>

struct ps_context;

namespace ps {

class cell_copy;
class state_layout;

// Whether a model has a head, or a chain of them, that llama.cpp computes.
bool has_head(const llama_model & model);

// Whether a model can be the head of another one, or has a head itself.
bool is_head_for(const llama_model & model, const llama_model & target);

// Whether a head has no cells of its own.
bool reads_targets_cells(const llama_model & model);

// Whether a head reads the inputs of layers.
bool reads_layers(const llama_model & model);

// Whether it guesses a block of tokens in a pass.
bool guesses_blocks(const llama_model & model);

// Has the passes of such a head be as it was trained for: mostly each token of a block sees all.
void prepare_blocks(llama_context * context);

// Tokens of such a head's passes at most, or one of each sequence: llama.cpp has room for the
// logits of each.
constexpr uint32_t most_in_blocks = 64;

// Whether its passes give the states of the tokens with logits alone. The others give those of all
// tokens whatever they are asked for, and copy too few of them where they are asked for less.
bool gives_output_states(const llama_model & model);

// Has the passes of a context give what a head reads, or gives itself: of all tokens, or of those
// with logits.
void give_states(llama_context * context, bool all);

// How many hidden states a head and what serves it keep at most, or what a context keeps for one.
size_t kept_states(const ps_context * c);

// The hidden states of a context's last pass, for its head.
class passed_states {
  public:
    // Has the passes of a context give the inputs of the layers that a head reads, one after the
    // other, in place of the hidden states.
    void read_layers(llama_context * context, const llama_model & head);
    // Of how many layers they are.
    size_t n_layers() const { return std::max<size_t>(layers.size(), 1); }
    // Copies them after a pass, before anybody looks at its rows: that is when llama.cpp puts rows
    // in order, and these as if they were rows.
    void take(const ps_context * c, const llama_batch & batch);
    // That of a token of the batch; null: there is none.
    const float * of(size_t token) const { return token * width < values.size() ? values.data() + token * width : nullptr; }

  private:
    bool find_order(const ps_context * c, const llama_batch & batch);

    std::unique_ptr<llama_batch_allocr> splitter;
    std::vector<int8_t>                 all;   // tokens are outputs
    std::vector<int32_t>                order; // tokens of the batch, as they were computed
    std::vector<int32_t>                layers; // whose inputs they are; empty: they are the states after the last
    std::vector<float>                  values;
    size_t                              width = 0;
};

// What a head knows of a sequence: the last tokens that the model has computed, with their hidden
// states. The first of these is that before the first token which the head has not read.
struct followed {
    int32_t              first   = 0; // position of tokens[0]
    int32_t              decoded = 0; // the head has read the tokens before this position
    int32_t              ahead   = 0; // the token that it has read where decoded > end()
    uint64_t             pass    = 0; // in which it was last seen
    bool                 prompt  = false; // that pass computed tokens without logits
    std::vector<int32_t> tokens;      // empty: nothing is known, and the head's sequence is empty
    std::vector<float>   states;

    int32_t end() const { return first + static_cast<int32_t>(tokens.size()); }
};

// A pass of a head: tokens, and the state before each.
struct head_batch {
    std::vector<int32_t> tokens, positions, sequences;
    std::vector<int8_t>  outputs;
    std::vector<float>   states;
    bool                 own = false; // the states are the head's

    size_t size() const { return tokens.size(); }
    void   clear();
    void   add(int32_t token, int32_t position, int32_t sequence, bool output, const float * state, size_t width);
};

class head {
  public:
    // Makes the head of a context, whose copies of states copy its cells, too.
    head(ps_context * context, ps_context * target);
    void follow(const passed_states & passed, size_t n, const int32_t * tokens, const int32_t * positions, const int32_t * sequences,
                const bool * outputs, bool padded);
    void draft(ps_head_ask * asks, size_t n, int64_t nanoseconds, float least);
    void cut(int32_t sequence, int32_t n);
    void share(int32_t from, int32_t to, int32_t n);
    // Appends what it knows of a sequence with so many positions to the model's state of that,
    // which the model's context copies to main memory, or nothing.
    void save(int32_t sequence, int32_t n_positions, state_layout & state);
    // Knows of a sequence what was saved of one with so many positions. Its cells are to be copied
    // as the model's are. Throws where that is nothing that was saved; it has to be forgotten then.
    void restore(int32_t sequence, int32_t n_positions, llama_io_read_i & state);

  private:
    void      forget(int32_t sequence);
    void      begin(int32_t sequence, int32_t position);
    void      know_nothing_before(followed & s, int32_t position);
    void      drop_from(followed & s, int32_t position);
    void      unread(int32_t sequence, int32_t position);
    void      drop_read(followed & s);
    void      trim(followed & s);
    void      add_pending(int32_t sequence, const followed & s, int32_t until);
    void      read(const std::vector<int32_t> & list);
    void      read_batch();
    void      remove(int32_t sequence, int32_t from);
    float *   encode();
    void      run();
    void      run_head(int32_t i);
    bool      is_there(ps_head_ask & a);
    bool      begin(const ps_head_ask & a);
    bool      choose(ps_head_ask & a, int32_t row, float least);
    bool      take(ps_head_ask & a, int32_t row, float least);
    void      guess_blocks(ps_head_ask * asks, const std::vector<size_t> & all, std::chrono::steady_clock::time_point until, float least);
    void      guess_in_turn(ps_head_ask * asks, const std::vector<size_t> & all, std::chrono::steady_clock::time_point until, float least);

    ps_context *          context;
    size_t                width;   // of what it reads of a token
    size_t                given;   // of what it gives of a token, and reads in its place
    cell_copy &           target_copy; // of the context that feeds it
    const bool            apart; // what has no logits is read in passes of its own
    const bool            shares; // it has no cells: it reads nothing ahead, and guesses all tokens at one position
    const int32_t         chain;  // heads, of which each guesses one token
    const int32_t         block;  // tokens that it guesses in a pass, with the one that they follow; 0: one after the other
    const int32_t         before; // of these are no guesses
    const bool            keeps;  // the token that a guess follows is read with the guess
    uint64_t              passes = 0;
    std::vector<followed> sequences;
    std::vector<int32_t>  seen, list;
    head_batch            batch, next;
    std::vector<float>    encoded;
    std::vector<int32_t>  coordinates;
    uint32_t              print; // of what computes its cells, where that is in a file of its own
};

}  // namespace ps
