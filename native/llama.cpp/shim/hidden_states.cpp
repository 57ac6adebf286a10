// SPDX-License-Identifier: MIT
#include "hidden_states.h"

#include "ggml-backend.h"
#include "llama-context.h"
#include "llama-graph.h"

#include <algorithm>

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

// A graph is computed up to the logits in one piece, as without this; then it still has the states.
bool hidden_states::on_node(ggml_tensor * node, bool ask, void * p) noexcept {
    auto *       self   = static_cast<hidden_states *>(p);
    const auto * graph  = self->context->*member(graph_tag{});
    const auto * logits = graph->get_logits();
    if (ask) {
        return node == logits;
    }
    if (fits(graph->get_embd(), logits)) {
        self->take(graph->get_embd(), logits->ne[1]);
    } else {
        self->lost = true;
    }
    return true;
}

void hidden_states::take(const ggml_tensor * of, int64_t rows) {
    const auto n = static_cast<size_t>(rows);
    if (n == 0) {
        return;
    }
    if (static_cast<size_t>(of->ne[0]) != width || (taken + n) * width > values.size()) {
        lost = true;
        return;
    }
    ggml_backend_tensor_get(of, values.data() + taken * width, 0, n * width * sizeof(float));
    taken += n;
}

hidden_states::collector::collector(hidden_states & to, llama_context * context, size_t rows, size_t width)
    : states(to), context(context), wanted(rows) {
    states.values.resize(std::max(states.values.size(), rows * width));
    states.context = context;
    states.width   = width;
    states.taken   = 0;
    states.lost    = false;
    watch(context, on_node, &states);
}

hidden_states::collector::~collector() { watch(context, nullptr, nullptr); }

float * hidden_states::collector::rows() {
    if (states.lost || states.taken != wanted || wanted == 0) {
        return nullptr;
    }
    float * values = states.values.data();
    for (const auto & swap : context->*member(swaps_tag{})) {
        std::swap_ranges(values + swap.i0 * states.width, values + (swap.i0 + 1) * states.width, values + swap.i1 * states.width);
    }
    return values;
}

}  // namespace ps
