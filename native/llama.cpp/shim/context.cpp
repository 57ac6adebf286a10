// SPDX-License-Identifier: MIT
// Contexts: making them, and the forward pass.
#include "context.h"

#include "huge_pages.h"
#include "kernel_choice.h"
#include "kernels/kernels.h"

#include "ggml-backend.h"
#include "llama-model.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <thread>
#include <tuple>

ps_context::~ps_context() {
    copy.stop_thread();  // it reads what is freed now
    llama_free(context);
    for (auto * p : { pool, batch_pool }) {
        if (p) {
            ggml_threadpool_free(p);
        }
    }
}

void ps_context::check_sequence(int32_t seq) const {
    if (seq < 0 || seq >= limits.sequences) {
        throw ps::fault(PS_INVALID, "sequence " + std::to_string(seq) + " is outside the context's " +
                                        std::to_string(limits.sequences));
    }
}

namespace {

using steady = std::chrono::steady_clock;

uint64_t since(steady::time_point from, steady::time_point to) {
    return static_cast<uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(to - from).count());
}

// The first thread of a pass asks this between two graph nodes, while the others wait for it.
bool should_abort(void * p) noexcept {
    auto * c = static_cast<ps_context *>(p);
    if (c->paused.load(std::memory_order_relaxed)) {
        std::unique_lock lock(c->pause_mutex);
        c->pause_changed.wait(lock, [&] { return !c->paused || c->aborted; });
    }
    return c->aborted.load(std::memory_order_relaxed);
}

void check(const ps_context_params & p) {
    if (p.output < PS_LOGITS || p.output > PS_SCORES) {
        throw ps::fault(PS_INVALID, "no output has the number " + std::to_string(p.output));
    }
    if (p.sequences < 1 || p.sequences > llama_max_parallel_sequences()) {
        throw ps::fault(PS_INVALID, "sequences must be 1 to " + std::to_string(llama_max_parallel_sequences()) +
                                        ", not " + std::to_string(p.sequences));
    }
    if (p.batch < 1 || p.batch > (1u << 20) || p.cells > (1u << 28)) {
        throw ps::fault(PS_INVALID, "a batch of " + std::to_string(p.batch) + " tokens with " + std::to_string(p.cells) +
                                        " cells is out of range");
    }
    for (const int32_t threads : { p.threads, p.threads_batch }) {
        if (threads < 1 || threads > GGML_MAX_N_THREADS) {
            throw ps::fault(PS_INVALID, "threads must be 1 to " + std::to_string(GGML_MAX_N_THREADS) + ", not " +
                                            std::to_string(threads));
        }
    }
    for (const int32_t type : { p.type_k, p.type_v }) {
        switch (type) {
            case GGML_TYPE_F32: case GGML_TYPE_F16: case GGML_TYPE_BF16: case GGML_TYPE_Q8_0: case GGML_TYPE_Q4_0:
            case GGML_TYPE_Q4_1: case GGML_TYPE_IQ4_NL: case GGML_TYPE_Q5_0: case GGML_TYPE_Q5_1:
                break;
            default:
                throw ps::fault(PS_INVALID, "the KV cache cannot hold values of type " + std::to_string(type));
        }
    }
}

// A head's keys and values begin with a block of a quantised type; llama.cpp asserts that for some
// models, and for K without flash attention.
void check_blocks(const ps_model * m, const ps_context_params & p) {
    const auto & h = m->model->hparams;
    for (uint32_t layer = 0; layer < (p.target ? h.n_layer_all : h.n_layer()); layer++) {
        for (const auto & [name, type, width] : { std::tuple{ "keys", p.type_k, h.n_embd_head_k(layer) }, std::tuple{ "values", p.type_v, h.n_embd_head_v(layer) } }) {
            const auto block = static_cast<uint32_t>(ggml_blck_size(static_cast<ggml_type>(type)));
            if (width % block != 0) {
                throw ps::fault(PS_INVALID, std::string("the KV cache cannot hold ") + name + " of this model as " + ggml_type_name(static_cast<ggml_type>(type)) + ": a head has " +
                                                std::to_string(width) + ", and the type has blocks of " + std::to_string(block) + "; use f16");
            }
        }
    }
}

// Layers behind the pooling, as sentence transformers have them.
bool has_dense_layers(const ps_model * m) {
    return m->model->dense_2_out_layers || m->model->dense_2_out_layers_b || m->model->dense_3_out_layers;
}

// Ends a pass with the embeddings: logits are not wanted, and for all tokens they cost as much as
// many layers. Without pooling, llama.cpp gives the embeddings themselves the name of what pooling
// yields.
bool stops_at_embeddings(ggml_tensor * node, bool ask, void *) noexcept {
    return ask ? std::strcmp(node->name, "result_embd_pooled") == 0 : false;
}

llama_context_params params_of(const ps_context_params & p, ps_context * self) {
    auto out                = llama_context_default_params();
    out.ctx_type            = p.target && !ps::reads_layers(*self->model->model) ? LLAMA_CONTEXT_TYPE_MTP : LLAMA_CONTEXT_TYPE_DEFAULT;
    out.ctx_other           = p.target ? p.target->context : nullptr;
    out.n_ctx               = p.cells;
    out.n_batch             = p.batch;
    out.n_ubatch            = p.ubatch == 0 ? p.batch : std::min(p.ubatch, p.batch);
    if (p.target) {  // with an encoder llama.cpp has rows for a batch, and asserts that these are as many as the sequences
        out.n_batch = std::max(out.n_batch, p.sequences);
        if (ps::guesses_blocks(*self->model->model)) {
            out.n_batch = out.n_ubatch = std::max(std::min(out.n_ubatch, ps::most_in_blocks), p.sequences);
        }
    }
    out.n_seq_max           = p.sequences;
    out.n_outputs_max       = std::max({ p.rows, p.sequences, p.target && ps::guesses_blocks(*self->model->model) ? out.n_batch : 0 });  // llama.cpp always reserves a row a sequence
    out.n_rs_seq            = p.snapshots;
    out.n_threads           = p.threads;
    out.n_threads_batch     = p.threads_batch;
    out.rope_scaling_type   = static_cast<llama_rope_scaling_type>(p.rope_scaling);
    out.rope_freq_base      = p.rope_freq_base;
    out.rope_freq_scale     = p.rope_freq_scale;
    out.yarn_ext_factor     = p.yarn_ext_factor;
    out.yarn_attn_factor    = p.yarn_attn_factor;
    out.yarn_beta_fast      = p.yarn_beta_fast;
    out.yarn_beta_slow      = p.yarn_beta_slow;
    out.yarn_orig_ctx       = p.yarn_orig_ctx;
    out.flash_attn_type     = static_cast<llama_flash_attn_type>(std::clamp(p.flash_attention, -1, 1));
    out.type_k              = static_cast<ggml_type>(p.type_k);
    out.type_v              = static_cast<ggml_type>(p.type_v);
    out.kv_unified          = p.unified;
    out.swa_full            = p.swa_full;  // else a sliding window is kept, not every position
    out.offload_kqv         = !p.no_kv_offload;
    out.op_offload          = !p.no_op_offload;
    out.no_perf             = true;
    out.abort_callback      = should_abort;
    out.abort_callback_data = self;
    if (p.output != PS_LOGITS) {
        // Each token is an output. Pooling is left to the caller, since several passes may compute
        // one sequence.
        out.embeddings    = true;
        out.pooling_type  = p.output == PS_SCORES ? LLAMA_POOLING_TYPE_RANK : LLAMA_POOLING_TYPE_NONE;
        out.n_outputs_max = p.batch;
    }
    if (p.output == PS_EMBEDDINGS && !has_dense_layers(self->model)) {
        out.cb_eval = stops_at_embeddings;
    }
    return out;
}

// Models without a causal mask compute a batch in one piece, and llama.cpp asserts that it fits.
bool is_non_causal(const ps_model * m, const llama_context * context) {
    char arch[64] = "", causal[16] = "";
    llama_model_meta_val_str(m->model, "general.architecture", arch, sizeof(arch));
    llama_model_meta_val_str(m->model, (std::string(arch) + ".attention.causal").c_str(), causal, sizeof(causal));
    return !llama_get_memory(context) || llama_model_is_diffusion(m->model) || std::strcmp(causal, "false") == 0;
}

// llama.cpp itself raises the length it was trained for where YaRN extends it, and not where
// positions are interpolated.
int32_t trained(const ps_model * m, const ps_context_params & p) {
    const int32_t length  = llama_model_n_ctx_train(m->model);
    const auto &  h       = m->model->hparams;
    const auto    scaling = p.rope_scaling < 0 ? h.rope_scaling_type_train : static_cast<llama_rope_scaling_type>(p.rope_scaling);
    if (scaling != LLAMA_ROPE_SCALING_TYPE_LINEAR || p.rope_freq_scale <= 0 || p.rope_freq_scale >= h.rope_freq_scale_train) {
        return length;
    }
    return static_cast<int32_t>(std::min(double(length) * h.rope_freq_scale_train / p.rope_freq_scale, double(1 << 30)));
}

// Whether its embeddings come from an encoder of its own, beside a decoder or not.
bool encodes(const ps_context * c) { return c->output != PS_LOGITS && llama_model_has_encoder(c->model->model); }

ggml_threadpool_t new_pool(int32_t threads, uint32_t poll) {
    auto params = ggml_threadpool_params_default(threads);
    params.poll = std::min(poll, 100u);
    auto * pool = ggml_threadpool_new(&params);
    if (!pool) {
        throw ps::fault(PS_NO_MEMORY, "no pool of " + std::to_string(threads) + " threads could be started");
    }
    return pool;
}

void attach_pools(ps_context * self, const ps_context_params & p) {
    self->threads       = p.threads;
    self->batch_threads = p.threads_batch;
    self->pool          = new_pool(p.threads, p.poll);
    if (p.threads_batch != p.threads) {
        self->batch_pool = new_pool(p.threads_batch, p.poll);
    }
    llama_attach_threadpool(self->context, self->pool, self->batch_pool);
}

}  // namespace

int32_t ps_context_new(ps_model * model, const ps_context_params * p, ps_context ** out, ps_error * err) noexcept {
    return ps::guarded(err, [&] {
        check(*p);
        check_blocks(model, *p);
        if (p->output == PS_SCORES && !model->model->cls && !model->model->cls_out) {
            throw ps::fault(PS_UNSUPPORTED, "the model has no classifier, so it gives no scores");
        }
        const auto & head = p->head ? *p->head->model : *model->model;
        if (p->target ? !ps::is_head_for(*model->model, *p->target->model->model) : p->feeds_head && !ps::is_head_for(head, *model->model)) {
            throw ps::fault(PS_UNSUPPORTED, "the model has no head that llama.cpp computes, or it was not loaded");
        }
        ps::log_capture capture;
        capture.expect("model default pooling_type is");  // the caller pools

        auto self     = std::make_unique<ps_context>();
        self->model   = model;
        self->unified = p->unified;
        self->output  = p->output;
        const auto params = params_of(*p, self.get());
        {
            const std::shared_lock<std::shared_mutex> planning(model->adapters);
            self->context = llama_init_from_model(model->model, params);
        }
        if (!self->context) {
            const auto reason = capture.reason("llama.cpp gave no reason");
            const bool memory = reason.find("allocate") != std::string::npos;
            throw ps::fault(memory ? PS_NO_MEMORY : PS_FAILED, reason);
        }
        if (!p->target || !ps::reads_targets_cells(*model->model)) {
            ps::use_huge_pages(llama_get_memory(self->context), model->model->hparams.n_layer_all);
        }
        attach_pools(self.get(), *p);
        if (p->target || p->feeds_head) {
            const std::shared_lock<std::shared_mutex> planning(model->adapters);
            self->feeds_head = p->feeds_head;
            if (p->feeds_head && ps::reads_layers(head)) {
                self->passed.read_layers(self->context, head);
            } else if (ps::guesses_blocks(*model->model)) {
                ps::prepare_blocks(self->context);
            } else {
                ps::give_states(self->context, p->feeds_head || !ps::gives_output_states(*model->model));
            }
        }

        auto & l    = self->limits;
        l.cells     = static_cast<int32_t>(llama_n_ctx(self->context));
        l.positions = static_cast<int32_t>(llama_n_ctx_seq(self->context));
        l.batch     = static_cast<int32_t>(llama_n_batch(self->context));
        l.ubatch    = static_cast<int32_t>(llama_n_ubatch(self->context));
        l.snapshots = static_cast<int32_t>(llama_n_rs_seq(self->context));
        l.trained   = trained(model, *p);
        l.memory    = llama_get_memory(self->context) != nullptr;
        if (p->output == PS_LOGITS && l.memory) {
            l.state  = ps::hidden_states::width_of(self->context);
            l.layers = ps::hidden_states::layers_of(self->context);
        }
        if (is_non_causal(model, self->context)) {
            l.batch = std::min(l.batch, l.ubatch);
        }
        if (!l.memory) {  // an encoder: every token is an output, and llama.cpp asserts that there is room for it
            l.batch = std::min(l.batch, static_cast<int32_t>(params.n_outputs_max));
            if (const int32_t trained = llama_model_n_ctx_train(model->model); trained > 0) {  // beyond, it may have no embedding of a position
                l.positions = std::min(l.positions, trained);
            }
        }
        if (p->output == PS_SCORES || encodes(self.get())) {  // llama.cpp looks for a sequence in one piece of the batch
            l.batch = std::min(l.batch, l.ubatch);
        }
        l.sequences = static_cast<int32_t>(llama_n_seq_max(self->context));
        l.rows      = static_cast<int32_t>(std::min(params.n_outputs_max, static_cast<uint32_t>(l.batch)));

        self->seq_counts.assign(static_cast<size_t>(l.batch), 1);
        self->seq_ids.resize(static_cast<size_t>(l.batch) + 1);
        if (p->target) {
            self->head = std::make_unique<ps::head>(self.get(), p->target);
        }
        *out = self.release();
    });
}

void ps_context_free(ps_context * context) noexcept { delete context; }

void ps_context_limits_of(const ps_context * context, ps_context_limits * out) noexcept { *out = context->limits; }

void ps_context_abort(ps_context * context) noexcept {
    const std::lock_guard lock(context->pause_mutex);
    context->aborted = true;
    context->pause_changed.notify_all();
}

void ps_context_pause(ps_context * context, bool pause) noexcept {
    const std::lock_guard lock(context->pause_mutex);
    context->paused = pause;
    context->pause_changed.notify_all();
}

int32_t ps_context_scores(ps_context * c, int32_t seq, const float ** scores, ps_error * err) noexcept {
    return ps::guarded(err, [&] {
        c->check_sequence(seq);
        *scores = c->output == PS_SCORES ? llama_get_embeddings_seq(c->context, seq) : nullptr;
        if (!*scores) {
            throw ps::fault(PS_INVALID, "the last pass gave no scores of sequence " + std::to_string(seq));
        }
    });
}

// llama.cpp checks tokens and positions itself, but asserts on the sizes, and with a unified KV
// cache it does not bound the sequence. Returns the number of output rows.
static size_t check_batch(const ps_context * c, size_t n, const int32_t * tokens, const int32_t * positions,
                          const int32_t * sequences, const bool * outputs) {
    if (n == 0 || n > static_cast<size_t>(c->limits.batch)) {
        throw ps::fault(PS_INVALID, "a batch of " + std::to_string(n) + " tokens; it must have 1 to " +
                                        std::to_string(c->limits.batch));
    }
    size_t rows = 0;
    for (size_t i = 0; i < n; i++) {
        if (tokens[i] < 0 || tokens[i] >= c->model->n_vocab) {
            throw ps::fault(PS_INVALID, "token " + std::to_string(tokens[i]) + " at " + std::to_string(i) +
                                            " is outside the vocabulary of " + std::to_string(c->model->n_vocab));
        }
        if (positions[i] < 0 || positions[i] >= c->limits.positions) {
            throw ps::fault(PS_INVALID, "position " + std::to_string(positions[i]) + " at " + std::to_string(i) +
                                            " is outside the context of " + std::to_string(c->limits.positions));
        }
        c->check_sequence(sequences[i]);
        rows += outputs[i] ? 1 : 0;
    }
    if (c->output != PS_LOGITS && rows != n) {
        throw ps::fault(PS_INVALID, std::to_string(rows) + " of " + std::to_string(n) + " tokens are outputs; for embeddings all must be");
    }
    if (rows > static_cast<size_t>(c->limits.rows)) {
        throw ps::fault(PS_INVALID, std::to_string(rows) + " output rows; the context has room for " +
                                        std::to_string(c->limits.rows));
    }
    return rows;
}

void ps_context::run(const llama_batch & batch, bool encode) {
    aborted                 = false;
    const auto      kernels = ps::lock_kernel_choice(); // a pass planned with one kernel must run with it
    ps::log_capture capture;

    std::shared_lock<std::shared_mutex> planning(model->adapters, std::defer_lock);
    if (plans_anew) {
        planning.lock();
        plans_anew = false;
    }
    times                   = {};
    const uint64_t napped   = penstock_stalled();
    const auto     begun    = steady::now();
    const int32_t  result   = encode || encodes(this) ? llama_encode(context, batch) : llama_decode(context, batch);
    const auto     launched = steady::now();
    switch (result) {
        case 0: break;
        case 1: throw ps::fault(PS_NO_CELLS, "the KV cache has no room for the batch");
        case 2: throw ps::fault(PS_ABORTED, "the forward pass was aborted");
        case -1: throw ps::fault(PS_INVALID, capture.reason("llama.cpp refused the batch"));
        default: throw ps::fault(PS_FAILED, capture.reason("the forward pass failed"));
    }
    llama_synchronize(context);
    times.launch  = since(begun, launched);
    times.wait    = since(launched, steady::now());
    times.stalled = penstock_stalled() - napped;
}

// llama.cpp has the copy follow the pass on the device, so nobody sees when it begins. One in so
// many is made again, and timed.
void ps_context::note_copy(const ggml_tensor * logits, float * to) {
    static constexpr uint32_t timed = 64;
    const auto                rows  = static_cast<double>(logits->ne[1]);
    if (n_copies++ % timed == 0) {
        const auto begun = steady::now();
        ggml_backend_tensor_get(logits, to, 0, ggml_nbytes(logits));
        row_copy = static_cast<double>(since(begun, steady::now())) / rows;
    }
    times.copy = std::min(static_cast<uint64_t>(row_copy * rows), times.wait);
    times.wait -= times.copy;
}

void ps_context_use_threads(ps_context * c, int32_t most) noexcept {
    if (penstock_attention_computed_by() != 1) {
        return;  // ggml's attention adds up in as many parts as there are threads, so a text would depend on them
    }
    llama_set_n_threads(c->context, std::clamp(most, 1, c->threads), std::clamp(most, 1, c->batch_threads));
}

void ps_context_times(const ps_context * c, ps_pass_times * out) noexcept { *out = c->times; }

int32_t ps_decode(ps_context * c, size_t n, const int32_t * tokens, const int32_t * positions, const int32_t * sequences,
                  const bool * outputs, const int32_t * layers, size_t n_layers, float ** rows, float *** states, ps_error * err) noexcept {
    static_assert(sizeof(bool) == sizeof(int8_t), "outputs is handed on as int8_t");
    return ps::guarded(err, [&] {
        *rows               = nullptr;
        *states             = nullptr;
        const size_t n_rows = check_batch(c, n, tokens, positions, sequences, outputs);
        for (size_t i = 0; i < n; i++) {
            c->seq_ids[i] = const_cast<llama_seq_id *>(sequences + i);
        }
        llama_batch batch{};
        batch.n_tokens = static_cast<int32_t>(n);
        batch.token    = const_cast<llama_token *>(tokens);
        batch.pos      = const_cast<llama_pos *>(positions);
        batch.n_seq_id = c->seq_counts.data();
        batch.seq_id   = c->seq_ids.data();
        batch.logits   = reinterpret_cast<int8_t *>(const_cast<bool *>(outputs));

        std::optional<ps::hidden_states::collector> collector;
        if (n_layers > 0 && n_rows > 0 && c->limits.state > 0) {
            collector.emplace(c->states, c->context, n_rows, static_cast<size_t>(c->limits.state), layers, n_layers);
        }
        c->run(batch);
        if (c->feeds_head) {
            c->passed.take(c, batch);
        }
        if (collector) {
            *states = collector->rows();
        }
        const auto * on_device = c->output == PS_LOGITS ? ps::hidden_states::logits_on_device(c->context, n_rows) : nullptr;
        if (n_rows > 0 && c->output != PS_SCORES) {
            *rows = c->output == PS_EMBEDDINGS ? llama_get_embeddings(c->context) : llama_get_logits(c->context);
            if (!*rows) {
                throw ps::fault(PS_FAILED, c->output == PS_EMBEDDINGS ? "the forward pass gave no embeddings" : "the forward pass gave no logits");
            }
            if (on_device) {
                c->note_copy(on_device, *rows);
            }
        }
    });
}
