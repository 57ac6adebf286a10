// SPDX-License-Identifier: MIT
// Loading and describing a model.
#include "shim.h"

#include "head.h"
#include "kernel_choice.h"
#include "kernels/kernels.h"
#include "mapped_file.h"
#include "model_params.h"

#include "llama-model.h"

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <set>

namespace {

struct progress {
    ps_progress_fn call;
    uintptr_t      user;
    bool           stopped;
};

bool on_progress(float done, void * p) noexcept {
    auto * state = static_cast<progress *>(p);
    if (state->call && !state->call(done, state->user)) {
        state->stopped = true;
    }
    return !state->stopped;
}

// llama.cpp gives its reason as text only.
int32_t code_of(const std::string & reason) {
    const auto has = [&](const char * part) { return reason.find(part) != std::string::npos; };
    if (has("allocate") || has("out of memory") || has("bad_alloc")) {
        return PS_NO_MEMORY;
    }
    if (has("unknown model architecture") || has("unknown tokenizer") || has("unknown pre-tokenizer") ||
        has("CLIP cannot be used")) {
        return PS_UNSUPPORTED;
    }
    return PS_FAILED;
}

bool in_main_memory(ggml_backend_buffer_t buffer) {
    if (ggml_backend_buffer_is_host(buffer)) {
        return true;  // not all of these types name a device
    }
    auto * const device = ggml_backend_buft_get_device(ggml_backend_buffer_get_type(buffer));
    return device && ggml_backend_dev_type(device) == GGML_BACKEND_DEVICE_TYPE_CPU;
}

// Keeps weights in RAM, as they lie in the file or as kernels of the CPU laid them out.
void lock_weights(ps_model & m) {
    std::set<ggml_backend_buffer_t> seen;
    for (const auto & [name, tensor] : llama_internal_get_tensor_map(m.model)) {
        auto * const buffer = tensor->buffer;
        if (buffer && seen.insert(buffer).second && in_main_memory(buffer)) {
            m.locks.emplace_back(ggml_backend_buffer_get_base(buffer), ggml_backend_buffer_get_size(buffer));
        }
    }
}

}  // namespace

int32_t ps_model_load(const char * path, const ps_model_params * params, ps_progress_fn call, uintptr_t user,
                      ps_model ** out, ps_error * err) noexcept {
    return ps::guarded(err, [&] {
        progress        state{ call, user, false };
        ps::log_capture capture;

        const auto kernels = ps::lock_kernel_choice(); // it decides how weights are laid out
        auto       model   = std::make_unique<ps_model>();
        const auto with    = std::make_shared<ps::model_params>(*params);
        model->loaded_with = with;

        with->params.progress_callback           = on_progress;
        with->params.progress_callback_user_data = &state;
        if (params->no_alloc) {
            with->leave_out_vocabulary(path);
        }
        penstock_load_begins(params->threads, with->computes_on_cpu() && ps::has_tied_embedding(path));
        model->model = llama_model_load_from_file(path, with->params); // which does not throw
        penstock_load_ends();
        if (!model->model) {
            if (state.stopped) {
                throw ps::fault(PS_CANCELLED, "the load was cancelled");
            }
            const auto reason = capture.reason("llama.cpp gave no reason");
            throw ps::fault(code_of(reason), reason);
        }
        if (with->lock) {
            lock_weights(*model);
        }
        ps::give_back_pages(model->model);
        model->vocab   = llama_model_get_vocab(model->model);
        model->n_vocab = llama_vocab_n_tokens(model->vocab);
        // Most of llama.cpp's functions for vocabularies assert that there is one.
        if ((llama_vocab_type(model->vocab) == LLAMA_VOCAB_TYPE_NONE && !params->no_alloc) || model->n_vocab <= 0) {
            throw ps::fault(PS_UNSUPPORTED, "the model has no vocabulary");
        }
        *out = model.release();
    });
}

void ps_model_free(ps_model * model) noexcept { delete model; }

int32_t ps_model_describe(ps_model * m, ps_model_info * out, ps_error * err) noexcept {
    return ps::guarded(err, [&] {
        *out                 = ps_model_info{};
        out->parameters      = llama_model_n_params(m->model);
        out->size            = llama_model_size(m->model);
        out->vocabulary      = m->n_vocab;
        out->vocabulary_type = llama_vocab_type(m->vocab);
        out->context_train   = llama_model_n_ctx_train(m->model);
        out->layers          = llama_model_n_layer(m->model);
        out->embedding       = llama_model_n_embd(m->model);
        out->embedding_in    = llama_model_n_embd_inp(m->model);
        out->embedding_out   = llama_model_n_embd_out(m->model);
        const bool classifies = m->model->cls || m->model->cls_out;  // others are said to have one class
        out->classes         = classifies ? static_cast<int32_t>(llama_model_n_cls_out(m->model)) : 0;
        out->window          = llama_model_n_swa(m->model);
        out->metadata        = llama_model_meta_count(m->model);
        out->encoder         = llama_model_has_encoder(m->model);
        out->decoder         = llama_model_has_decoder(m->model);
        out->recurrent       = llama_model_is_recurrent(m->model);
        out->hybrid          = llama_model_is_hybrid(m->model);
        out->head            = ps::has_head(*m->model);
        out->diffusion       = llama_model_is_diffusion(m->model);
        out->bos             = llama_vocab_bos(m->vocab);
        out->eos             = llama_vocab_eos(m->vocab);
        out->eot             = llama_vocab_eot(m->vocab);
        out->sep             = llama_vocab_sep(m->vocab);
        out->newline         = llama_vocab_nl(m->vocab);
        out->add_bos         = llama_vocab_get_add_bos(m->vocab);
        out->add_eos         = llama_vocab_get_add_eos(m->vocab);
        out->add_sep         = llama_vocab_get_add_sep(m->vocab);
        out->fim_prefix      = llama_vocab_fim_pre(m->vocab);
        out->fim_suffix      = llama_vocab_fim_suf(m->vocab);
        out->fim_middle      = llama_vocab_fim_mid(m->vocab);
        out->fim_repository  = llama_vocab_fim_rep(m->vocab);
        out->fim_separator   = llama_vocab_fim_sep(m->vocab);
        snprintf(out->file_type, sizeof out->file_type, "%s", llama_ftype_name(llama_model_ftype(m->model)));
    });
}

// Returns the whole of a text whose reader gives the length as snprintf does.
template <typename Read> static void return_all(ps_text * out, Read && read) {
    std::string buffer(256, 0);
    int32_t     n = read(&buffer[0], buffer.size());
    if (n >= static_cast<int32_t>(buffer.size())) {
        buffer.resize(static_cast<size_t>(n) + 1);
        n = read(&buffer[0], buffer.size());
    }
    ps::return_text(out, buffer.data(), n < 0 ? 0 : static_cast<size_t>(n));
}

int32_t ps_model_metadata(ps_model * m, int32_t index, ps_text * key, ps_text * value, ps_error * err) noexcept {
    return ps::guarded(err, [&] {
        if (index < 0 || index >= llama_model_meta_count(m->model)) {
            throw ps::fault(PS_INVALID, "there is no metadata entry " + std::to_string(index));
        }
        return_all(key, [&](char * p, size_t n) { return llama_model_meta_key_by_index(m->model, index, p, n); });
        return_all(value, [&](char * p, size_t n) { return llama_model_meta_val_str_by_index(m->model, index, p, n); });
    });
}

int32_t ps_model_template(ps_model * m, const char * name, ps_text * out, ps_error * err) noexcept {
    return ps::guarded(err, [&] {
        const char * source = llama_model_chat_template(m->model, *name ? name : nullptr);
        ps::return_text(out, source ? source : "", source ? std::strlen(source) : 0);
    });
}

int32_t ps_model_class(ps_model * m, int32_t index, ps_text * out, ps_error * err) noexcept {
    return ps::guarded(err, [&] {
        const char * label = llama_model_cls_label(m->model, static_cast<uint32_t>(index));
        ps::return_text(out, label ? label : "", label ? std::strlen(label) : 0);
    });
}
