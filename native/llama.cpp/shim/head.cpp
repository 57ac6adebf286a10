// SPDX-License-Identifier: MIT
#include "head.h"

#include "context.h"
#include "state_layout.h"

#include "llama-context.h"
#include "llama-ext.h"
#include "llama-graph.h"
#include "llama-model.h"

#include "ggml-backend.h"

#include <algorithm>
#include <chrono>
#include <limits>
#include <numeric>

namespace {

// What llama.cpp keeps to itself; see hidden_states.cpp.
template <typename Tag, auto Member> struct reveal {
    friend constexpr auto member(Tag) { return Member; }
};
struct states_tag {
    friend constexpr auto member(states_tag);
};
struct order_tag {
    friend constexpr auto member(order_tag);
};
struct reserve_tag {
    friend constexpr auto member(reserve_tag);
};
struct layers_tag {
    friend constexpr auto member(layers_tag);
};
template struct reveal<states_tag, &llama_context::embd_nextn>;
template struct reveal<order_tag, &llama_context::output_swaps>;
template struct reveal<reserve_tag, &llama_context::sched_need_reserve>;
template struct reveal<layers_tag, &llama_context::embd_layer_inp>;

// The most tokens that a head has yet to read. Those of answers for which nobody asks it are
// forgotten then: reading them would cost each answer what a layer costs.
constexpr size_t most_unread = 64;

// Tokens that an encoder reads in one pass: llama.cpp has room for the logits of each, too.
constexpr size_t most_encoded = 32;

constexpr size_t positions_of_text = 1;  // of a token, also where pictures have coordinates

// What a state begins with that is a head's. The tokens follow, then their hidden states, and then
// the head's cells.
struct saved_head {
    uint32_t print;                    // of the head
    int32_t  first, decoded, n_tokens; // see followed
};

// Tells encoders apart by some of their weights; 0 where these were not loaded, or there are none.
// They are of the last norm: ggml lays matrices out in ways in which they cannot be read back.
uint32_t print_of(const llama_model & model) {
    if (!ps::encodes_layers(model) || model.hparams.no_alloc) {
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
    if (h.n_layer_nextn != 1 || h.router_layer >= 0 || h.n_layer() == 0 || h.n_layer() >= model.layers.size()) {
        return false; // several heads would be read one after the other
    }
    const auto & nextn = model.layers[h.n_layer()].nextn;
    return h.n_embd_out() == h.n_embd && nextn.eh_proj && nextn.enorm && nextn.hnorm;
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
    if (encodes_layers(model)) {
        const auto & layers = model.target_layer_ids;
        return h.n_embd_out() == h.n_embd && h.n_embd_inp_enc() == layers.size() * t.n_embd && (model.tok_embd || h.n_embd == t.n_embd) && (model.output || target.output) &&
               std::all_of(layers.begin(), layers.end(), [&](int32_t layer) { return layer >= 0 && layer < static_cast<int32_t>(t.n_layer()); });
    }
    return model.arch == LLM_ARCH_GEMMA4_ASSISTANT && target.arch == LLM_ARCH_GEMMA4 && h.n_layer_nextn > 0 && h.n_layer() == 0 && t.n_layer() >= 2 &&
           h.n_embd_out() == t.n_embd && t.n_embd_out() == t.n_embd;
}

bool encodes_layers(const llama_model & model) { return model.arch == LLM_ARCH_EAGLE3; }

bool reads_targets_cells(const llama_model & model) { return model.arch == LLM_ARCH_GEMMA4_ASSISTANT; }

bool gives_output_states(const llama_model & model) {
    return model.arch == LLM_ARCH_STEP35 || model.arch == LLM_ARCH_MIMO2 || model.arch == LLM_ARCH_GEMMA4_ASSISTANT || encodes_layers(model);
}

void give_states(llama_context * context, bool all) {
    llama_set_embeddings_nextn(context, true, !all);
    context->*member(reserve_tag{}) = true;
    context->sched_reserve();
}

size_t kept_states(const ps_context * c) {
    const auto batch = static_cast<size_t>(c->limits.batch);
    if (c->head) { // llama.cpp's, those of the batch that it reads, and what is unread, in vectors that have doubled
        const auto & m    = *c->model->model;
        const auto   wide = encodes_layers(m) ? std::max(m.hparams.n_embd_inp_enc() / m.hparams.n_embd_out(), 1u) : 1u;
        return wide * (4 * batch + 2 * most_unread * static_cast<size_t>(c->limits.sequences));
    }
    return c->feeds_head ? 2 * batch * c->passed.n_layers() : 0; // llama.cpp's, and their copy
}

void passed_states::read_layers(llama_context * context, const llama_model & head) {
    for (const int32_t layer : head.target_layer_ids) {
        if (!context->get_gf_res_reserve() || !context->get_gf_res_reserve()->get_layer_inp(layer)) { // llama.cpp would end the process
            throw fault(PS_UNSUPPORTED, "llama.cpp does not give the input of this model's layer " + std::to_string(layer) + ", which the head reads");
        }
    }
    layers = head.target_layer_ids;
    for (const int32_t layer : layers) {
        llama_set_embeddings_layer_inp(context, static_cast<uint32_t>(layer), true);
    }
    context->*member(reserve_tag{}) = true;
    context->sched_reserve();
}

void passed_states::take(const ps_context * c, const llama_batch & batch) {
    const auto n    = static_cast<size_t>(batch.n_tokens);
    const auto part = static_cast<size_t>(layers.empty() ? llama_model_n_embd_out(c->model->model) : llama_model_n_embd(c->model->model));
    width           = part * n_layers();
    values.clear();
    if (!find_order(c, batch)) {
        return;
    }
    values.resize(n * width);
    for (size_t k = 0; k < n_layers(); k++) {
        const auto & view = layers.empty() ? c->context->*member(states_tag{}) : (c->context->*member(layers_tag{}))[static_cast<size_t>(layers[k])];
        if (!view.data || view.size < n * part) {
            values.clear();
            return;
        }
        for (size_t i = 0; i < n; i++) {
            std::copy_n(view.data + i * part, part, values.data() + static_cast<size_t>(order[i]) * width + k * part);
        }
    }
}

// llama.cpp computes a batch in parts, and leaves the states in the order of these. It tells only
// how it has put the rows in order, so the batch is divided a second time, as the memories of
// context.cpp's models do it, and what comes of that is held against the rows.
bool passed_states::find_order(const ps_context * c, const llama_batch & batch) {
    const auto n = static_cast<size_t>(batch.n_tokens);
    order.resize(n);
    std::iota(order.begin(), order.end(), 0);
    const bool one   = std::all_of(batch.seq_id, batch.seq_id + n, [&](const llama_seq_id * s) { return *s == **batch.seq_id; });
    const bool equal = !c->unified || (!c->head && llama_model_is_hybrid(c->model->model));
    if (!one && equal) {
        if (!splitter) {
            splitter = std::make_unique<llama_batch_allocr>(positions_of_text);
        }
        all.assign(n, 1);
        llama_batch whole = batch;
        whole.logits      = all.data();
        const auto snapshots = static_cast<uint32_t>(c->limits.snapshots);
        if (!splitter->init(whole, *c->model->vocab, nullptr, 0, static_cast<uint32_t>(c->limits.sequences), false)) {
            return false;
        }
        while (splitter->split_equal(static_cast<uint32_t>(c->limits.ubatch), !c->unified, snapshots > 0 ? snapshots + 1 : 0).n_tokens > 0) {
        }
        order = splitter->get_out_ids();
        if (order.size() != n) {
            return false;
        }
    }
    std::vector<int32_t> rows;
    std::copy_if(order.begin(), order.end(), std::back_inserter(rows), [&](int32_t token) { return batch.logits[token] != 0; });
    for (const auto & swap : c->context->*member(order_tag{})) {
        if (swap.i0 >= rows.size() || swap.i1 >= rows.size()) {
            return false;
        }
        std::swap(rows[swap.i0], rows[swap.i1]);
    }
    return std::is_sorted(rows.begin(), rows.end());
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
    : context(context), width(encodes_layers(*context->model->model) ? context->model->model->hparams.n_embd_inp_enc() : context->model->model->hparams.n_embd_out()),
      given(context->model->model->hparams.n_embd_out()), target_copy(target->copy),
      apart(gives_output_states(*context->model->model)), shares(reads_targets_cells(*context->model->model)),
      sequences(static_cast<size_t>(context->limits.sequences)), print(print_of(*context->model->model)) {
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

// Adds to the next pass what the head has yet to read before a position.
void head::add_pending(int32_t sequence, const followed & s, int32_t until) {
    for (int32_t p = s.decoded; p < until; p++) {
        const auto i = static_cast<size_t>(p - s.first);
        batch.add(s.tokens[i], p, sequence, false, s.states.data() + (i - 1) * width, width);
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
    for (size_t i = 0; i < batch.size(); i++) {
        context->seq_ids[i] = &batch.sequences[i];
    }
    llama_batch out{};
    out.n_tokens = static_cast<int32_t>(batch.size());
    out.token    = batch.tokens.data();
    out.embd     = states;
    out.pos      = batch.positions.data();
    out.n_seq_id = context->seq_counts.data();
    out.seq_id   = context->seq_ids.data();
    out.logits   = batch.outputs.data();
    context->run(out);
    if (!apart && batch.outputs.back()) {
        context->passed.take(context, out);
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
            run();
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

// Takes the best token of a row of the pass, and prepares the next pass; false: the guess ends.
bool head::take(ps_head_ask & a, int32_t row, float least) {
    const float * logits = llama_get_logits_ith(context->context, row);
    const float * state  = apart ? llama_get_embeddings_nextn_ith(context->context, row) : context->passed.of(static_cast<size_t>(row));
    if (!logits || !state) {
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
    const int32_t position = a.position + a.drafted;
    if (a.drafted == a.most || position >= context->limits.positions) {
        return false;
    }
    next.add(token, shares ? a.position : position, a.sequence, true, state, given);
    next.own = true;
    return true;
}

void head::draft(ps_head_ask * asks, size_t n, int64_t nanoseconds, float least) {
    const auto began = clock::now();
    const auto until = began + std::chrono::nanoseconds(std::max<int64_t>(nanoseconds, 0));
    std::vector<size_t>  active;
    std::vector<int32_t> rows;
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
        batch.clear();
        for (const size_t i : all) {
            if (begin(asks[i])) {
                active.push_back(i);
                rows.push_back(static_cast<int32_t>(batch.size()) - 1);
            }
        }
        for (auto before = began; !active.empty();) {
            run();
            next.clear();
            const auto now = clock::now();
            const bool last = now + (now - before) > until;
            before          = now;
            std::vector<size_t> go_on;
            for (size_t k = 0; k < active.size(); k++) {
                auto & a = asks[active[k]];
                auto & s = sequences[static_cast<size_t>(a.sequence)];
                if (a.drafted == 0 && !shares) {
                    s.decoded = s.end() + 1;
                    s.ahead   = a.token;
                    drop_read(s);
                }
                if (take(a, rows[k], least) && !last) {
                    go_on.push_back(active[k]);
                }
            }
            if (last) {
                break;
            }
            active.swap(go_on);
            rows.resize(active.size());
            std::iota(rows.begin(), rows.end(), 0);
            std::swap(batch, next);
        }
        for (const size_t i : all) {
            remove(asks[i].sequence, asks[i].position + 1);
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
