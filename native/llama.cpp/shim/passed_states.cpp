// SPDX-License-Identifier: MIT
// The hidden states that passes give heads.
#include "head.h"

#include "context.h"

#include "llama-context.h"
#include "llama-ext.h"
#include "llama-graph.h"
#include "llama-model.h"

#include <algorithm>
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

constexpr size_t positions_of_text = 1;  // of a token, also where pictures have coordinates

}  // namespace

namespace ps {

void give_states(llama_context * context, bool all) {
    llama_set_embeddings_nextn(context, true, !all);
    context->*member(reserve_tag{}) = true;
    context->sched_reserve();
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

}  // namespace ps
