// SPDX-License-Identifier: MIT
#include "head.h"

#include "context.h"
#include "state_layout.h"

#include "llama-context.h"
#include "llama-ext.h"
#include "llama-model.h"

#include "ggml-backend.h"

#include <algorithm>
#include <chrono>
#include <iterator>
#include <limits>

namespace {

// The most tokens that a head has yet to read. Those of answers for which nobody asks it are
// forgotten then: reading them would cost each answer what a layer costs.
constexpr size_t most_unread = 64;

// Tokens that an encoder reads in one pass: llama.cpp has room for the logits of each, too.
constexpr size_t most_encoded = 32;

// Heads in a chain that are used: models have three.
constexpr uint32_t most_in_chain = 16;

// What a state begins with that is a head's. The tokens follow, then their hidden states, and then
// the head's cells.
struct saved_head {
    uint32_t print;                    // of the head
    int32_t  first, decoded, n_tokens; // see followed
};

// Tells heads in files of their own apart by some of their weights; 0 where these were not loaded,
// or there are none. They are of the last norm: ggml lays matrices out in ways in which they cannot
// be read back.
uint32_t print_of(const llama_model & model) {
    if (!ps::reads_layers(model) || model.hparams.no_alloc) {
        return 0;
    }
    std::vector<uint8_t> bytes(std::min<size_t>(ggml_nbytes(model.output_norm), 4096));
    ggml_backend_tensor_get(model.output_norm, bytes.data(), 0, bytes.size());
    uint32_t hash = 2166136261u; // FNV-1a
    for (const uint8_t b : bytes) {
        hash = (hash ^ b) * 16777619u;
    }
    return hash;
}

// Refuses a head whose own tokens are none of the model's: on a GPU, their logits would be written
// wherever that is.
void check_tokens(const llama_model & model) {
    if (!model.d2t || model.d2t->type != GGML_TYPE_I64 || model.hparams.no_alloc) { // of another type llama.cpp computes nothing
        return;
    }
    std::vector<int64_t> tokens(static_cast<size_t>(ggml_nelements(model.d2t)));
    ggml_backend_tensor_get(model.d2t, tokens.data(), 0, ggml_nbytes(model.d2t));
    for (const int64_t token : tokens) {
        if (token < 0 || token >= static_cast<int64_t>(model.vocab.n_tokens())) {
            throw ps::fault(PS_UNSUPPORTED, "the head guesses token " + std::to_string(token) + ", which the model has not");
        }
    }
}

using clock = std::chrono::steady_clock;

bool encodes_layers(const llama_model & model) { return model.arch == LLM_ARCH_EAGLE3; }

// Whether a number of heads in the model's own file is one that llama.cpp computes.
bool is_chain(const llama_model & model) {
    return model.hparams.n_layer_nextn <= most_in_chain && (model.arch == LLM_ARCH_STEP35 || model.arch == LLM_ARCH_MIMO2);
}

int32_t heads_of(const llama_model & model) { return is_chain(model) ? static_cast<int32_t>(model.hparams.n_layer_nextn) : 1; }

std::string value_of(const llama_model & model, const char * key) {
    char value[16] = "";
    llama_model_meta_val_str(&model, key, value, sizeof(value));
    return value;
}

// How many tokens a block has at most, the one that it follows included.
int32_t block_of(const llama_model & model) {
    constexpr uint32_t usual = 16; // where the file says nothing
    const uint32_t     n     = model.hparams.dflash_block_size;
    return ps::guesses_blocks(model) ? static_cast<int32_t>(std::min(n == 0 ? usual : n, ps::most_in_blocks)) : 0;
}

// How many rows of a block are no guesses. Those of DSpark mostly begin with the token that they
// follow, as those of a language model do; others' are of the masked tokens themselves.
int32_t before_block(const llama_model & model) {
    const auto anchor = value_of(model, "dflash.sample_from_anchor");
    return model.dspark_markov_w1 && (anchor.empty() || anchor == "true") ? 0 : 1;
}

// Whether a head's blocks are such as guess_blocks asks for. DFlash 2 gives a lattice to choose
// from, and DeepSeek 4's DSpark lies in cells of another kind.
bool has_plain_blocks(const llama_model & model) {
    const auto &  h     = model.hparams;
    const int32_t mask  = model.vocab.token_mask();
    const bool    masks = h.no_alloc || (mask >= 0 && mask < static_cast<int32_t>(model.vocab.n_tokens())); // else it has no vocabulary
    return masks && h.dsv4_hc_mult == 0 && h.dflash_selector_top_k == 0 && !model.dflash_selector_hidden && (!model.d2t || model.output) &&
           (h.dflash_block_size != 0 || !model.dspark_markov_w1) && block_of(model) > before_block(model) && h.n_embd_head_k() == h.n_embd_head_v();
}

}  // namespace

namespace ps {

bool has_head(const llama_model & model) {
    switch (model.arch) {
        case LLM_ARCH_QWEN35: case LLM_ARCH_QWEN35MOE: case LLM_ARCH_GLM4_MOE: case LLM_ARCH_GLM_DSA:
        case LLM_ARCH_DEEPSEEK2: case LLM_ARCH_DEEPSEEK32: case LLM_ARCH_HY_V3: case LLM_ARCH_COHERE2MOE: case LLM_ARCH_BAILINGMOE3:
        case LLM_ARCH_NEMOTRON_H_MOE: case LLM_ARCH_STEP35: case LLM_ARCH_MIMO2:
            break;
        default: // DeepSeek 4 lies in memory whose passes are split in ways of their own; Qwen3-Next cannot drop wrong guesses
            return false;
    }
    const auto & h = model.hparams;
    if ((h.n_layer_nextn != 1 && !is_chain(model)) || h.router_layer >= 0 || h.n_layer() == 0 || h.n_layer() >= model.layers.size()) {
        return false;
    }
    return h.n_embd_out() == h.n_embd && std::all_of(model.layers.begin() + h.n_layer(), model.layers.end(), [](const llama_layer & layer) {
        return layer.nextn.eh_proj && layer.nextn.enorm && layer.nextn.hnorm;
    });
}

bool is_head_for(const llama_model & model, const llama_model & target) {
    if (&model == &target) {
        return has_head(model);
    }
    const auto & h = model.hparams;
    const auto & t = target.hparams;
    if (model.vocab.n_tokens() != target.vocab.n_tokens()) {
        return false;
    }
    if (reads_layers(model)) {
        const auto & layers = model.target_layer_ids;
        return !layers.empty() && (!guesses_blocks(model) || has_plain_blocks(model)) && h.n_embd_out() == h.n_embd && h.n_embd_inp_enc() == layers.size() * t.n_embd && (model.tok_embd || h.n_embd == t.n_embd) && (model.output || target.output) &&
               std::all_of(layers.begin(), layers.end(), [&](int32_t layer) { return layer >= 0 && layer < static_cast<int32_t>(t.n_layer()); });
    }
    return model.arch == LLM_ARCH_GEMMA4_ASSISTANT && target.arch == LLM_ARCH_GEMMA4 && h.n_layer_nextn > 0 && h.n_layer() == 0 && t.n_layer() >= 2 &&
           h.n_embd_out() == t.n_embd && t.n_embd_out() == t.n_embd;
}

bool guesses_blocks(const llama_model & model) { return model.arch == LLM_ARCH_DFLASH; }

bool reads_layers(const llama_model & model) { return encodes_layers(model) || guesses_blocks(model); }

void prepare_blocks(llama_context * context) {
    llama_set_causal_attn(context, value_of(*llama_get_model(context), "dflash.attention.causal") == "true");
    context->sched_reserve();
}

bool reads_targets_cells(const llama_model & model) { return model.arch == LLM_ARCH_GEMMA4_ASSISTANT; }

bool gives_output_states(const llama_model & model) {
    return model.arch == LLM_ARCH_STEP35 || model.arch == LLM_ARCH_MIMO2 || model.arch == LLM_ARCH_GEMMA4_ASSISTANT || encodes_layers(model);
}

size_t kept_states(const ps_context * c) {
    const auto batch = static_cast<size_t>(c->limits.batch);
    if (c->head) { // llama.cpp's, those of the batch that it reads, and what is unread, in vectors that have doubled
        const auto & m    = *c->model->model;
        const auto   wide = reads_layers(m) ? std::max(m.hparams.n_embd_inp_enc() / m.hparams.n_embd_out(), 1u) : 1u;
        return wide * (2 * batch + 2 * most_unread * static_cast<size_t>(c->limits.sequences));
    }
    return c->feeds_head ? 4 * batch * c->passed.n_layers() : 0; // llama.cpp's, their copy, and the head's, which has doubled: its own passes may be smaller
}

void head_batch::clear() {
    tokens.clear();
    positions.clear();
    sequences.clear();
    outputs.clear();
    states.clear();
    own = false;
}

void head_batch::add(int32_t token, int32_t position, int32_t sequence, bool output, const float * state, size_t width) {
    tokens.push_back(token);
    positions.push_back(position);
    sequences.push_back(sequence);
    outputs.push_back(output ? 1 : 0);
    states.insert(states.end(), state, state + width);
}

head::head(ps_context * context, ps_context * target)
    : context(context), width(reads_layers(*context->model->model) ? context->model->model->hparams.n_embd_inp_enc() : context->model->model->hparams.n_embd_out()),
      given(context->model->model->hparams.n_embd_out()), target_copy(target->copy),
      apart(gives_output_states(*context->model->model) || guesses_blocks(*context->model->model)), shares(reads_targets_cells(*context->model->model)),
      chain(heads_of(*context->model->model)), block(std::min(block_of(*context->model->model), context->limits.batch)),
      before(before_block(*context->model->model)), keeps(!shares && chain == 1 && block == 0), sequences(static_cast<size_t>(context->limits.sequences)), print(print_of(*context->model->model)) {
    check_tokens(*context->model->model);
}

void head::remove(int32_t sequence, int32_t from) {
    if (shares) {
        return;
    }
    context->copy.finish();
    if (target_copy.source < 0 || target_copy.target < 0) { // else it is between sequences, of the model's cells alone
        target_copy.finish_before_change(sequence, from);
    }
    llama_memory_seq_rm(llama_get_memory(context->context), sequence, from, -1);
}

void head::forget(int32_t sequence) {
    auto & s = sequences[static_cast<size_t>(sequence)];
    s.tokens.clear();
    s.states.clear();
    trim(s);
    s.first = s.decoded = 0;
    remove(sequence, -1);
}

// Gives back what a long piece of a prompt has needed: as many states for each sequence would take
// as much memory as a model.
void head::trim(followed & s) {
    if (s.states.capacity() > 2 * most_unread * width) {
        s.tokens.shrink_to_fit();
        s.states.shrink_to_fit();
    }
}

// Has what follows a position be the next that the head reads. Where the state before is not known,
// as after a picture, it reads zeros in its place: worse guesses.
void head::begin(int32_t sequence, int32_t position) {
    auto & s = sequences[static_cast<size_t>(sequence)];
    cut(sequence, position);
    if (!s.tokens.empty() && s.end() != position) {
        forget(sequence);
    }
    if (s.tokens.empty()) {
        s.decoded = position;
        know_nothing_before(s, position);
    }
}

// Begins a sequence at a position, with zeros in place of the state before it.
void head::know_nothing_before(followed & s, int32_t position) {
    s.first = position - 1;
    s.tokens.assign(1, 0);
    s.states.assign(width, 0);
}

// Drops the tokens from a position on, whether the head has read them or not.
void head::drop_from(followed & s, int32_t position) {
    if (const int32_t kept = position - s.first; kept > 0) {
        s.tokens.resize(static_cast<size_t>(kept));
        s.states.resize(static_cast<size_t>(kept) * width);
    } else {
        know_nothing_before(s, position);
    }
}

// Has the head forget what it has read from a position on.
void head::unread(int32_t sequence, int32_t position) {
    auto & s = sequences[static_cast<size_t>(sequence)];
    if (s.decoded > position) {
        s.decoded = position;
        remove(sequence, position);
    }
}

// Drops the states of tokens before the last one that the head has read.
void head::drop_read(followed & s) {
    const auto n = static_cast<ptrdiff_t>(std::min(s.decoded, s.end()) - 1 - s.first);
    if (n > 0) {
        s.tokens.erase(s.tokens.begin(), s.tokens.begin() + n);
        s.states.erase(s.states.begin(), s.states.begin() + n * static_cast<ptrdiff_t>(width));
        s.first += static_cast<int32_t>(n);
    }
}

// Adds to the next pass what the head has yet to read before a position: each token with the state
// before it, or of DFlash with its own.
void head::add_pending(int32_t sequence, const followed & s, int32_t until) {
    for (int32_t p = s.decoded; p < until; p++) {
        const auto i = static_cast<size_t>(p - s.first);
        batch.add(s.tokens[i], p, sequence, false, s.states.data() + (block > 0 ? i : i - 1) * width, width);
    }
}

// Makes of what the head reads of tokens what its layers take in. Each token is by itself.
float * head::encode() {
    encoded.resize(batch.size() * given);
    const auto at_once = std::min(most_encoded, static_cast<size_t>(context->limits.ubatch));
    for (size_t from = 0; from < batch.size(); from += at_once) {
        llama_batch in{};
        in.n_tokens = static_cast<int32_t>(std::min(at_once, batch.size() - from));
        in.embd     = batch.states.data() + from * width;
        context->run(in, true);
        const float * out = llama_get_embeddings_nextn(context->context);
        if (!out) {
            throw fault(PS_FAILED, "the head's encoder gave nothing");
        }
        std::copy_n(out, static_cast<size_t>(in.n_tokens) * given, encoded.data() + from * given);
    }
    return encoded.data();
}

void head::run() {
    context->copy.finish();
    float * states = encodes_layers(*context->model->model) && !batch.own ? encode() : batch.states.data();
    const bool fills = block > 0 && !batch.states.empty(); // cells, with what it makes of the states
    for (size_t i = 0; i < batch.size(); i++) {
        context->seq_ids[i] = &batch.sequences[i];
    }
    llama_batch out{};
    out.n_tokens = static_cast<int32_t>(batch.size());
    out.token    = fills ? nullptr : batch.tokens.data();
    out.embd     = block > 0 && !fills ? nullptr : states;
    out.pos      = batch.positions.data();
    if (fills && llama_model_rope_type(context->model->model) == LLAMA_ROPE_TYPE_MROPE) { // of text all coordinates but the last are the position
        coordinates.clear();
        for (int i = 0; i < 3; i++) {
            coordinates.insert(coordinates.end(), batch.positions.begin(), batch.positions.end());
        }
        coordinates.resize(4 * batch.size(), 0);
        out.pos = coordinates.data();
    }
    out.n_seq_id = context->seq_counts.data();
    out.seq_id   = context->seq_ids.data();
    out.logits   = batch.outputs.data();
    context->run(out);
    if (!apart && batch.outputs.back()) {
        context->passed.take(context, out);
    }
}

// Runs a pass of one of the heads in a chain. Each has a layer of the cells, so it reads what the
// one before it has read, in the same cells.
void head::run_head(int32_t i) {
    for (size_t k = 0; i > 0 && k < batch.size(); k++) {
        if (k == 0 || batch.sequences[k] != batch.sequences[k - 1]) {
            remove(batch.sequences[k], batch.positions[k]);
        }
    }
    if (chain > 1) {
        llama_set_nextn_layer_offset(context->context, i);
    }
    run();
}

// Has all heads read the batch.
void head::read_batch() {
    for (int32_t i = 0; i < chain; i++) {
        run_head(i);
    }
}

// Reads what is pending of some sequences, as many in a pass as it has room for.
void head::read(const std::vector<int32_t> & list) {
    const auto room = static_cast<int32_t>(context->limits.batch);
    batch.clear();
    for (size_t next = 0; next < list.size();) {
        const int32_t sequence = list[next];
        auto &        s        = sequences[static_cast<size_t>(sequence)];
        const int32_t until    = std::min(s.end(), s.decoded + room - static_cast<int32_t>(batch.size()));
        add_pending(sequence, s, until);
        s.decoded = until;
        if (s.decoded == s.end()) {
            next++;
        }
        if (static_cast<int32_t>(batch.size()) == room || next == list.size()) {
            read_batch();
            batch.clear();
        }
    }
    for (const int32_t sequence : list) {
        auto & s = sequences[static_cast<size_t>(sequence)];
        drop_read(s);
        trim(s);
    }
}

void head::follow(const passed_states & passed, size_t n, const int32_t * tokens, const int32_t * positions, const int32_t * ids,
                  const bool * outputs, bool padded) {
    passes++;
    seen.clear();
    for (size_t i = 0; i < n; i++) {
        if (padded && !outputs[i]) {
            continue;
        }
        const float * state = passed.of(i);
        if (!state) {
            forget(ids[i]);
            continue;
        }
        auto & s = sequences[static_cast<size_t>(ids[i])];
        if (s.pass != passes) {
            s.pass   = passes;
            s.prompt = false;
            seen.push_back(ids[i]);
            begin(ids[i], positions[i]);
            if (shares) {
                s.decoded = s.end();
                drop_read(s);
            }
        }
        if (s.ahead != tokens[i]) {
            unread(ids[i], s.end());
        }
        s.prompt = s.prompt || !outputs[i];
        s.tokens.push_back(tokens[i]);
        s.states.insert(s.states.end(), state, state + width);
    }
    list.clear();
    for (const int32_t sequence : seen) {
        auto & s = sequences[static_cast<size_t>(sequence)];
        if (shares) { // what a rejected guess may go back to
            s.decoded = std::max(s.decoded, s.end() - static_cast<int32_t>(most_unread));
            drop_read(s);
            trim(s);
        } else if (s.end() - s.decoded <= static_cast<int32_t>(most_unread)) {
            drop_read(s);
        } else if (s.prompt) {
            list.push_back(sequence);
        } else {
            s.decoded = s.end();
            drop_read(s);
            remove(sequence, -1);
        }
    }
    if (list.empty()) {
        return;
    }
    try {
        read(list);
    } catch (...) {
        for (const int32_t sequence : list) {
            forget(sequence);
        }
        throw;
    }
}

void head::cut(int32_t sequence, int32_t n) {
    auto & s = sequences[static_cast<size_t>(sequence)];
    if (n <= 0) {
        forget(sequence);
        return;
    }
    if (s.tokens.empty() || n >= s.end()) {
        return;
    }
    unread(sequence, n);
    drop_from(s, n);
}

void head::share(int32_t from, int32_t to, int32_t n) {
    const auto & source = sequences[static_cast<size_t>(from)];
    if (from == to) {
        cut(from, n);
        return;
    }
    forget(to);
    const int32_t read = std::min(source.decoded, n);
    if (source.tokens.empty() || source.end() < n || (read < 1 && !shares)) {
        return;
    }
    const auto first = llama_memory_seq_pos_min(llama_get_memory(context->context), from);
    if (!shares && first >= 0 && first < read) {
        ps_error err{};
        if (ps_memory_share(context, from, to, read, &err) != PS_OK) {
            return;
        }
    }
    auto & s = sequences[static_cast<size_t>(to)];
    s        = source;
    s.pass   = 0;
    s.decoded = read;
    drop_from(s, n);
    drop_read(s);
}

void head::save(int32_t sequence, int32_t n_positions, state_layout & state) {
    const auto & s = sequences[static_cast<size_t>(sequence)];
    if (s.tokens.empty() || s.end() != n_positions) {
        return;
    }
    context->copy.finish();
    unread(sequence, s.end());
    const saved_head about{ print, s.first, s.decoded, static_cast<int32_t>(s.tokens.size()) };
    state.write(&about, sizeof(about));
    state.write(s.tokens.data(), s.tokens.size() * sizeof(int32_t));
    state.write(s.states.data(), s.states.size() * sizeof(float));
    memory_of(context)->state_write(state, sequence);
}

void head::restore(int32_t sequence, int32_t n_positions, llama_io_read_i & state) {
    forget(sequence);
    saved_head about{};
    state.read(&about, sizeof(about));
    if (about.print != print || about.n_tokens < 1 || about.n_tokens > static_cast<int32_t>(most_unread) + 1 || about.first < -1 || about.first != n_positions - about.n_tokens ||
        about.decoded <= about.first || about.decoded > n_positions) {
        throw fault(PS_INVALID, "the state is of another head, or at other positions");
    }
    std::vector<int32_t> tokens(static_cast<size_t>(about.n_tokens));
    std::vector<float>   values(tokens.size() * width);
    state.read(tokens.data(), tokens.size() * sizeof(int32_t));
    state.read(values.data(), values.size() * sizeof(float));
    if (std::any_of(tokens.begin(), tokens.end(), [this](int32_t t) { return t < 0 || t >= context->model->n_vocab; })) {
        throw fault(PS_INVALID, "the state has tokens that the model has not");
    }
    auto * memory = memory_of(context);
    memory->state_read(state, sequence);
    if (const int32_t last = memory->seq_pos_max(sequence); !shares && last >= 0 && last != about.decoded - 1) {
        throw fault(PS_INVALID, "the state has another number of a head's cells");
    }
    auto & s = sequences[static_cast<size_t>(sequence)];
    s.first   = about.first;
    s.decoded = about.decoded;
    s.tokens  = std::move(tokens);
    s.states  = std::move(values);
}

// Whether the sequence ends where the guess begins. What the head has read of that place goes.
bool head::is_there(ps_head_ask & a) {
    a.drafted = 0;
    a.gap     = std::numeric_limits<float>::infinity();
    auto & s  = sequences[static_cast<size_t>(a.sequence)];
    if (chain > 1 || block > 0) {
        a.most = std::min(a.most, block > 0 ? block - before : chain);
    }
    if (a.position < 0 || a.position >= context->limits.positions || a.most < 1) {
        return false;
    }
    if (target_copy.target == a.sequence) { // it may fill cells that the guess reads
        target_copy.finish();
    }
    if (s.tokens.empty()) {
        begin(a.sequence, a.position);
    }
    if (s.end() != a.position) {
        return false;
    }
    unread(a.sequence, s.end());
    return true;
}

// Prepares the first pass of a guess; false: it has no room.
bool head::begin(const ps_head_ask & a) {
    const auto & s       = sequences[static_cast<size_t>(a.sequence)];
    const auto   pending = shares ? 0 : static_cast<size_t>(s.end() - s.decoded);
    if (batch.size() + pending + 1 > static_cast<size_t>(context->limits.batch)) {
        return false;
    }
    if (!shares) {
        add_pending(a.sequence, s, s.end());
    }
    batch.add(a.token, a.position, a.sequence, true, s.states.data() + s.states.size() - width, width);
    return true;
}

// Takes the best token of a row of the pass; false: it is not sure enough, and the guess ends.
bool head::choose(ps_head_ask & a, int32_t row, float least) {
    const float * logits = llama_get_logits_ith(context->context, row);
    if (!logits) {
        return false;
    }
    int32_t token = 0;
    float   first = -std::numeric_limits<float>::infinity(), second = first;
    for (int32_t t = 0; t < context->model->n_vocab; t++) {
        if (logits[t] > first) {
            second = first;
            first  = logits[t];
            token  = t;
        } else if (logits[t] > second) {
            second = logits[t];
        }
    }
    const float gap = first - second;
    if (!(gap >= (a.drafted > 0 ? least : 0.0f))) { // or it is not a number
        return false;
    }
    a.gap                 = std::min(a.gap, gap);
    a.tokens[a.drafted++] = token;
    return true;
}

// Takes the best token of a row of the pass, and prepares the next pass; false: the guess ends. The
// next head of a chain reads all of the guess.
bool head::take(ps_head_ask & a, int32_t row, float least) {
    const float * state = apart ? llama_get_embeddings_nextn_ith(context->context, row) : context->passed.of(static_cast<size_t>(row));
    if (!state || !choose(a, row, least)) {
        return false;
    }
    const int32_t position = a.position + a.drafted, again = chain > 1 ? a.drafted : 0;
    if (a.drafted == a.most || position >= context->limits.positions || next.size() + static_cast<size_t>(again) >= static_cast<size_t>(context->limits.batch)) {
        return false;
    }
    for (auto i = static_cast<size_t>(row + 1 - again); i < static_cast<size_t>(row + 1); i++) {
        next.add(batch.tokens[i], batch.positions[i], a.sequence, false, batch.states.data() + i * given, given);
    }
    next.add(a.tokens[a.drafted - 1], shares ? a.position : position, a.sequence, true, state, given);
    next.own = true;
    return true;
}

// Guesses blocks, of several sequences in a pass: each is the token that they follow, and masks.
// All are as long, which the graph of DSpark asks for.
void head::guess_blocks(ps_head_ask * asks, const std::vector<size_t> & all, clock::time_point until, float least) {
    int32_t longest = 0;
    for (const size_t i : all) {
        longest = std::max(longest, asks[i].most);
    }
    const int32_t       length = longest + before;
    const int32_t       mask   = context->model->model->vocab.token_mask();
    std::vector<size_t> there;
    std::copy_if(all.begin(), all.end(), std::back_inserter(there), [&](size_t i) { return asks[i].position <= context->limits.positions - length; });
    const auto at_once = static_cast<size_t>(context->limits.batch / std::max(length, 1));
    for (size_t from = 0; from < there.size() && (from == 0 || clock::now() < until); from += at_once) {
        const auto to = std::min(from + at_once, there.size());
        batch.clear();
        for (size_t i = from; i < to; i++) {
            const auto & a = asks[there[i]];
            for (int32_t k = 0; k < length; k++) {
                batch.add(k == 0 ? a.token : mask, a.position + k, a.sequence, true, nullptr, 0);
            }
        }
        run();
        for (size_t i = from; i < to; i++) {
            auto & a = asks[there[i]];
            for (int32_t row = static_cast<int32_t>(i - from) * length + before; a.drafted < a.most && choose(a, row, least); row++) {
            }
        }
    }
}

// Guesses token by token, of all sequences in the same passes.
void head::guess_in_turn(ps_head_ask * asks, const std::vector<size_t> & all, clock::time_point until, float least) {
    std::vector<size_t>  active, go_on;
    std::vector<int32_t> rows, next_rows;
    batch.clear();
    for (const size_t i : all) {
        if (begin(asks[i])) {
            active.push_back(i);
            rows.push_back(static_cast<int32_t>(batch.size()) - 1);
        }
    }
    auto before_pass = clock::now();
    for (int32_t step = 0; !active.empty(); step++) {
        run_head(chain > 1 ? step : 0);
        next.clear();
        const auto now  = clock::now();
        const bool last = now + (now - before_pass) > until;
        before_pass     = now;
        go_on.clear();
        next_rows.clear();
        for (size_t k = 0; k < active.size(); k++) {
            auto & a = asks[active[k]];
            auto & s = sequences[static_cast<size_t>(a.sequence)];
            if (a.drafted == 0 && keeps) {
                s.decoded = s.end() + 1;
                s.ahead   = a.token;
                drop_read(s);
            }
            if (take(a, rows[k], least) && !last) {
                go_on.push_back(active[k]);
                next_rows.push_back(static_cast<int32_t>(next.size()) - 1);
            }
        }
        if (last) {
            break;
        }
        active.swap(go_on);
        rows.swap(next_rows);
        std::swap(batch, next);
    }
}

void head::draft(ps_head_ask * asks, size_t n, int64_t nanoseconds, float least) {
    const auto          until = clock::now() + std::chrono::nanoseconds(std::max<int64_t>(nanoseconds, 0));
    std::vector<size_t> all;
    for (size_t i = 0; i < n; i++) {
        if (is_there(asks[i])) {
            all.push_back(i);
        }
    }
    try {
        if (apart && !shares) {
            list.clear();
            for (const size_t i : all) {
                if (const auto & s = sequences[static_cast<size_t>(asks[i].sequence)]; s.end() > s.decoded) {
                    list.push_back(asks[i].sequence);
                }
            }
            read(list);
        }
        if (block > 0) {
            guess_blocks(asks, all, until, least);
        } else {
            guess_in_turn(asks, all, until, least);
        }
        for (const size_t i : all) {
            remove(asks[i].sequence, asks[i].position + (keeps ? 1 : 0));
        }
    } catch (...) {
        for (const size_t i : all) {
            asks[i].drafted = 0;
            forget(asks[i].sequence);
        }
        throw;
    }
}

}  // namespace ps

bool ps_model_is_head_for(const ps_model * head, const ps_model * model) noexcept { return ps::is_head_for(*head->model, *model->model); }

int32_t ps_head_follow(ps_context * h, const ps_context * target, size_t n, const int32_t * tokens, const int32_t * positions,
                       const int32_t * sequences, const bool * outputs, bool padded, ps_error * err) noexcept {
    return ps::guarded(err, [&] { h->head->follow(target->passed, n, tokens, positions, sequences, outputs, padded); });
}

int32_t ps_head_draft(ps_context * h, ps_head_ask * asks, size_t n, int64_t nanoseconds, float least, ps_error * err) noexcept {
    return ps::guarded(err, [&] {
        for (size_t i = 0; i < n; i++) {
            h->check_sequence(asks[i].sequence);
            if (asks[i].token < 0 || asks[i].token >= h->model->n_vocab || asks[i].most > PS_MOST_DRAFTED) {
                throw ps::fault(PS_INVALID, "token " + std::to_string(asks[i].token) + " or " + std::to_string(asks[i].most) + " tokens to draft are out of range");
            }
        }
        h->head->draft(asks, n, nanoseconds, least);
    });
}

int32_t ps_head_cut(ps_context * h, int32_t seq, int32_t n, ps_error * err) noexcept {
    return ps::guarded(err, [&] {
        h->check_sequence(seq);
        h->head->cut(seq, n);
    });
}

int32_t ps_head_share(ps_context * h, int32_t from, int32_t to, int32_t n, ps_error * err) noexcept {
    return ps::guarded(err, [&] {
        h->check_sequence(from);
        h->check_sequence(to);
        h->head->share(from, to, n);
    });
}
