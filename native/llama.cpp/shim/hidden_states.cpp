// SPDX-License-Identifier: MIT
#include "hidden_states.h"

#include "ggml-backend.h"
#include "llama-context.h"
#include "llama-graph.h"

#include "llama-model.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

namespace {

// llama.cpp tells nobody which graph it computes, nor that it has yet to put the rows of a pass in
// order. An explicit instantiation may name what is private; where llama.cpp gives it another name,
// this does not compile.
template <typename Tag, auto Member> struct reveal {
    friend constexpr auto member(Tag) { return Member; }
};
struct graph_tag {
    friend constexpr auto member(graph_tag);
};
struct swaps_tag {
    friend constexpr auto member(swaps_tag);
};
template struct reveal<graph_tag, &llama_context::gf_res_prev_active>;
template struct reveal<swaps_tag, &llama_context::output_swaps>;

// Whether the states of a graph are those of its rows of logits.
bool fits(const ggml_tensor * states, const ggml_tensor * logits) {
    return states && logits && states->type == GGML_TYPE_F32 && ggml_is_contiguous(states) && states->ne[1] == logits->ne[1];
}

// The number of the layer, from 1, that gives a node of a graph; 0: none. llama.cpp names it after
// the layer's last step, a control vector included.
int32_t layer_of(const ggml_tensor * node) {
    static const char prefix[] = "l_out-";
    const size_t      n        = sizeof(prefix) - 1;
    if (std::strncmp(node->name, prefix, n) != 0 || node->name[n] < '0' || node->name[n] > '9') {
        return 0;
    }
    char *     end    = nullptr;
    const long number = std::strtol(node->name + n, &end, 10);
    return *end == '\0' && number < INT32_MAX ? static_cast<int32_t>(number) + 1 : 0;
}

// Which of a pass's tokens have rows; null if a graph does not say.
const ggml_tensor * output_ids(const llm_graph_result & graph) {
    for (const auto & input : graph.inputs) {
        if (const auto * ids = dynamic_cast<const llm_graph_input_out_ids *>(input.get())) {
            return ids->out_ids;
        }
    }
    return nullptr;
}

void watch(llama_context * context, ggml_backend_sched_eval_callback on_node, void * self) {
    // The first is for graphs that are planned anew, the second for those that are used again.
    auto & params            = const_cast<llama_cparams &>(context->get_cparams());
    params.cb_eval           = on_node;
    params.cb_eval_user_data = self;
    ggml_backend_sched_set_eval_callback(context->get_sched(), on_node, self);
}

}  // namespace

namespace ps {

int32_t hidden_states::width_of(const llama_context * context) {
    const auto * graph = context->get_gf_res_reserve();
    if (!graph || !fits(graph->get_embd(), graph->get_logits())) {
        return 0;
    }
    return static_cast<int32_t>(graph->get_embd()->ne[0]);
}

int32_t hidden_states::layers_of(const llama_context * context) {
    const int32_t width = width_of(context);
    if (width == 0) {
        return 0;
    }
    auto *           graph = context->get_gf_res_reserve()->get_gf();
    std::vector<int> found(context->get_model().hparams.n_layer());
    for (int i = 0; i < ggml_graph_n_nodes(graph); i++) {
        const auto *  node  = ggml_graph_node(graph, i);
        const int32_t layer = layer_of(node);
        if (layer == 0) {
            continue;
        }
        if (node->type != GGML_TYPE_F32 || node->ne[0] != width || !ggml_is_contiguous(node)) {
            return 0;
        }
        if (static_cast<size_t>(layer) <= found.size()) {
            found[static_cast<size_t>(layer) - 1]++;
        }
    }
    const bool once = std::all_of(found.begin(), found.end(), [](int n) { return n == 1; });
    return once ? static_cast<int32_t>(found.size()) : 0;
}

const ggml_tensor * hidden_states::logits_on_device(llama_context * context, size_t rows) {
    const auto * graph  = context->*member(graph_tag{});
    const auto * logits = graph ? graph->get_logits() : nullptr;
    const bool   whole  = logits && rows > 0 && logits->buffer && static_cast<size_t>(logits->ne[1]) == rows && ggml_is_contiguous(logits);
    return whole && !ggml_backend_buffer_is_host(logits->buffer) && (context->*member(swaps_tag{})).empty() ? logits : nullptr;
}

// A graph is computed in pieces: up to each of the layers' nodes, whose memory later ones use
// again, and up to the logits, where it still has the states after the norm.
bool hidden_states::on_node(ggml_tensor * node, bool ask, void * p) noexcept {
    auto *       self   = static_cast<hidden_states *>(p);
    const auto * graph  = self->context->*member(graph_tag{});
    const auto * logits = graph->get_logits();
    auto *       layer  = self->given_by(node, logits);
    if (ask) {
        return layer != nullptr;
    }
    if (layer == nullptr) {
        return true;
    }
    if (layer->number > 0) {
        self->take(*layer, node, logits->ne[1]);
    } else if (fits(graph->get_embd(), logits)) {
        self->take(*layer, graph->get_embd(), logits->ne[1]);
    } else {
        self->lost = true;
    }
    return true;
}

// Which of the wanted layers a node is for; null: none.
hidden_states::layer * hidden_states::given_by(const ggml_tensor * node, const ggml_tensor * logits) {
    const int32_t number = node == logits ? 0 : layer_of(node);
    if (!logits || (number == 0 && node != logits)) {
        return nullptr;
    }
    for (size_t i = 0; i < wanted; i++) {
        if (layers[i].number == number) {
            return &layers[i];
        }
    }
    return nullptr;
}

// Takes so many rows: all that a node has, or those of the tokens that have logits.
void hidden_states::take(layer & to, const ggml_tensor * of, int64_t rows) {
    const auto n = static_cast<size_t>(rows);
    if (n == 0) {
        return;
    }
    const auto all = static_cast<size_t>(ggml_nelements(of)) / width;
    if (of->type != GGML_TYPE_F32 || !ggml_is_contiguous(of) || static_cast<size_t>(of->ne[0]) != width || all < n ||
        (to.taken + n) * width > to.values.size()) {
        lost = true;
        return;
    }
    const size_t bytes = width * sizeof(float);
    float *      into  = to.values.data() + to.taken * width;
    to.taken += n;
    if (all == n) {
        ggml_backend_tensor_get(of, into, 0, n * bytes);
        return;
    }
    const auto * ids = output_ids(*(context->*member(graph_tag{})));
    if (!ids || ids->type != GGML_TYPE_I32 || ids->ne[0] != rows) {
        lost = true;
        return;
    }
    std::vector<int32_t> tokens(n);
    ggml_backend_tensor_get(ids, tokens.data(), 0, n * sizeof(int32_t));
    for (size_t i = 0; i < n; i++) {
        if (tokens[i] < 0 || static_cast<size_t>(tokens[i]) >= all) {
            lost = true;
            return;
        }
        ggml_backend_tensor_get(of, into + i * width, static_cast<size_t>(tokens[i]) * bytes, bytes);
    }
}

hidden_states::collector::collector(hidden_states & to, llama_context * context, size_t rows, size_t width, const int32_t * layers, size_t n)
    : states(to), context(context), wanted(rows) {
    states.layers.resize(std::max(states.layers.size(), n));
    for (size_t i = 0; i < n; i++) {
        auto & layer = states.layers[i];
        layer.number = layers[i];
        layer.taken  = 0;
        layer.values.resize(std::max(layer.values.size(), rows * width));
    }
    states.context = context;
    states.width   = width;
    states.wanted  = n;
    states.lost    = false;
    watch(context, on_node, &states);
}

hidden_states::collector::~collector() { watch(context, nullptr, nullptr); }

float ** hidden_states::collector::rows() {
    states.first.clear();
    for (size_t i = 0; i < states.wanted; i++) {
        auto & layer = states.layers[i];
        if (states.lost || layer.taken != wanted) {
            return nullptr;
        }
        float * values = layer.values.data();
        for (const auto & swap : context->*member(swaps_tag{})) {
            std::swap_ranges(values + swap.i0 * states.width, values + (swap.i0 + 1) * states.width, values + swap.i1 * states.width);
        }
        states.first.push_back(values);
    }
    return states.first.data();
}

}  // namespace ps
