// SPDX-License-Identifier: MIT
// A pass over the embeddings of a picture or a sound.
#include "context.h"

#include <algorithm>
#include <cmath>
#include <optional>

namespace {

// Coordinates of a position where a model has several: time, row, column, and one that is not used.
constexpr size_t coordinates = 4;

void check(const ps_context * c, const ps_embedding_batch & b) {
    if (c->output != PS_LOGITS || !c->limits.memory) {
        throw ps::fault(PS_INVALID, "this context does not continue texts, so it has no use for pictures and sounds");
    }
    const size_t room = static_cast<size_t>(b.whole ? std::min(c->limits.batch, c->limits.ubatch) : c->limits.batch);
    if (b.from >= b.to || b.to > b.piece || b.to - b.from > room) {
        throw ps::fault(PS_INVALID, "embeddings " + std::to_string(b.from) + " to " + std::to_string(b.to) + " of " + std::to_string(b.piece) +
                                        "; a pass has room for " + std::to_string(room));
    }
    if (b.whole && b.to - b.from != b.piece) {
        throw ps::fault(PS_INVALID, "the embeddings see one another, so that one pass computes all " + std::to_string(b.piece));
    }
    if (b.columns < 0 || (b.columns > 0 && (b.piece % b.columns != 0 || !c->has_coordinates()))) {
        throw ps::fault(PS_INVALID, "a grid of " + std::to_string(b.columns) + " columns does not fit " + std::to_string(b.piece) +
                                        " embeddings, or the model");
    }
    // Unsigned, since both may be anything.
    const uint64_t last = b.columns > 0 ? std::max<uint64_t>(b.columns, b.piece / b.columns) : b.to;
    if (b.position < 0 || b.position + last > static_cast<uint64_t>(c->limits.positions)) {
        throw ps::fault(PS_INVALID, "position " + std::to_string(b.position) + " and " + std::to_string(last) +
                                        " more exceed the context of " + std::to_string(c->limits.positions));
    }
    c->check_sequence(b.sequence);
    const size_t width = static_cast<size_t>(llama_model_n_embd_inp(c->model->model));
    if (std::any_of(b.values, b.values + (b.to - b.from) * width, [](float x) { return !std::isfinite(x); })) {
        throw ps::fault(PS_INVALID, "an embedding has what is no finite number");
    }
}

// The coordinates lie one plane after the other.
std::vector<llama_pos> positions_of(const ps_context * c, const ps_embedding_batch & b) {
    const size_t           n = b.to - b.from;
    std::vector<llama_pos> at(n * (c->has_coordinates() ? coordinates : 1));
    for (size_t i = 0; i < at.size(); i++) {
        const auto row = static_cast<int32_t>(b.from + i % n);
        if (b.columns == 0) {
            at[i] = b.position + row;
            continue;
        }
        const int32_t of[coordinates] = { b.position, b.position + row / b.columns, b.position + row % b.columns, 0 };
        at[i]                         = of[i / n];
    }
    return at;
}

// Has a pass compute without the causal mask. llama.cpp plans its graphs anew at either change.
struct without_mask {
    ps_context * c;
    explicit without_mask(ps_context * c) : c(c) { set(false); }
    ~without_mask() { set(true); }
    void set(bool causal) const {
        llama_set_causal_attn(c->context, causal);
        c->plans_anew = true;
    }
};

}  // namespace

bool ps_context::has_coordinates() const {
    const auto type = llama_model_rope_type(model->model);
    return type == LLAMA_ROPE_TYPE_MROPE || type == LLAMA_ROPE_TYPE_IMROPE;
}

int32_t ps_decode_embeddings(ps_context * c, const ps_embedding_batch * b, ps_error * err) noexcept {
    return ps::guarded(err, [&] {
        check(c, *b);
        auto                       positions = positions_of(c, *b);
        const size_t               n         = b->to - b->from;
        auto                       sequence  = static_cast<llama_seq_id>(b->sequence);
        std::vector<llama_seq_id *> sequences(n + 1, &sequence);
        std::vector<int8_t>         outputs(n, 0);
        sequences[n] = nullptr;

        llama_batch batch{};
        batch.n_tokens = static_cast<int32_t>(n);
        batch.embd     = const_cast<float *>(b->values);
        batch.pos      = positions.data();
        batch.n_seq_id = c->seq_counts.data();
        batch.seq_id   = sequences.data();
        batch.logits   = outputs.data();
        std::optional<without_mask> mask;
        if (b->whole) {
            mask.emplace(c);
        }
        c->run(batch);
    });
}
