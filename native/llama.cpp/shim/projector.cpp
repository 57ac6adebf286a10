// SPDX-License-Identifier: MIT
// A projector: loading one, and encoding pieces of pictures and sounds.
#include "media.h"

#include "kernel_choice.h"

#include "ggml-backend.h"

#include <cmath>
#include <cstring>

namespace {

// Who encodes is asked after each layer, by the name that libmtmd gives to what leaves it. Some
// encoders have none, so it is asked after so many operations too, which are more than a layer of
// others has.
constexpr int most_nodes = 64;

bool after_node(ggml_tensor * node, bool ask, void * user) noexcept {
    auto * p = static_cast<ps_projector *>(user);
    if (ask) {
        if (p->on_cpu) {
            penstock_let_pause(node, &p->pause);
        }
        if (++p->nodes < most_nodes && std::strncmp(node->name, "layer_out", 9) != 0) {
            return false;
        }
        p->nodes = 0;
        return true;
    }
    p->pause.rest_alone();
    p->asked++;
    if (p->go_on && !p->go_on(static_cast<float>(p->asked), p->user)) {
        p->stopped = true;  // libmtmd reports success all the same
    }
    return !p->stopped;
}

ggml_backend_dev_t device_named(const char * name) {
    auto * device = ggml_backend_dev_by_name(name);
    if (!device) {
        throw ps::fault(PS_INVALID, "no device is named " + std::string(name));
    }
    return device;
}

void check(const ps_projector_params & p) {
    constexpr int32_t most = 1 << 16;
    if (p.threads < 1 || p.threads > GGML_MAX_N_THREADS) {
        throw ps::fault(PS_INVALID, "threads must be 1 to " + std::to_string(GGML_MAX_N_THREADS) + ", not " + std::to_string(p.threads));
    }
    if (p.least < 0 || p.most < 0 || p.least > most || p.most > most || (p.most > 0 && p.least > p.most)) {
        throw ps::fault(PS_INVALID, "a picture cannot have " + std::to_string(p.least) + " to " + std::to_string(p.most) + " embeddings");
    }
}

// libmtmd gives its reason as text only.
ps::fault refusal(const std::string & reason) {
    const auto has = [&](const char * part) { return reason.find(part) != std::string::npos; };
    if (has("mismatch between text model")) {
        return { PS_UNSUPPORTED, "the projector belongs to another model: " + reason };
    }
    if (has("unknown projector type") || has("unexpected vision projector") || has("unexpected audio projector") || has("unsupported decoder rope type")) {
        return { PS_UNSUPPORTED, reason };
    }
    return { has("allocate") ? PS_NO_MEMORY : PS_FAILED, reason };
}

}  // namespace

int32_t ps_projector_open(ps_model * model, const char * path, const ps_projector_params * params, ps_projector ** out,
                          ps_projector_info * info, ps_error * err) noexcept {
    return ps::guarded(err, [&] {
        check(*params);
        ps::log_capture capture;
        capture.expect("audio input is in experimental stage");
        auto self   = std::make_unique<ps_projector>();
        self->model = model;

        self->on_cpu        = *params->device == 0;
        auto p              = mtmd_context_params_default();
        p.use_gpu           = *params->device != 0;
        p.device            = p.use_gpu ? device_named(params->device) : nullptr;
        p.print_timings     = false;
        p.n_threads         = params->threads;
        p.flash_attn_type   = static_cast<llama_flash_attn_type>(params->flash_attention);
        p.warmup            = false;  // a trial has encoded already, and the first encode plans its buffers
        p.image_min_tokens  = params->least > 0 ? params->least : -1;
        p.image_max_tokens  = params->most > 0 ? params->most : -1;
        p.cb_eval           = after_node;
        p.cb_eval_user_data = self.get();
        self->context.reset(mtmd_init_from_file(path, model->model, p));
        if (!self->context) {
            throw refusal(capture.reason("libmtmd gave no reason"));
        }
        auto & i      = self->info;
        i.vision      = mtmd_support_vision(self->context.get());
        i.audio       = mtmd_support_audio(self->context.get());
        i.mrope       = mtmd_decode_use_mrope(self->context.get());
        i.sample_rate = i.audio ? mtmd_get_audio_sample_rate(self->context.get()) : 0;
        i.width       = llama_model_n_embd_inp(model->model);
        if (i.audio && (i.sample_rate < 1000 || i.sample_rate > 1000000)) {
            throw ps::fault(PS_UNSUPPORTED, "the projector wants sounds of " + std::to_string(i.sample_rate) + " samples a second");
        }
        *info = i;
        *out  = self.release();
    });
}

void ps_projector_pause(ps_projector * projector, bool on) noexcept {
    constexpr std::chrono::milliseconds most(10);  // in which a part of an operation ends on a slow machine, too
    if (projector->on_cpu) {
        projector->pause.set(on, most);
    }
}

void ps_projector_free(ps_projector * projector) noexcept { delete projector; }

int32_t ps_projector_encode(ps_projector * p, const ps_media * media, size_t index, ps_progress_fn go_on, uintptr_t user, float * out,
                            size_t size, ps_error * err) noexcept {
    return ps::guarded(err, [&] {
        const auto & piece = media->pieces.at(index);
        if (piece.tokens || media->counted_only) {
            throw ps::fault(PS_INVALID, "only pixels and samples are encoded");
        }
        if (size != piece.n * static_cast<size_t>(p->info.width)) {
            throw ps::fault(PS_INVALID, "room for " + std::to_string(size) + " numbers of " + std::to_string(piece.n) + " embeddings");
        }
        const auto      kernels = ps::lock_kernel_choice();
        ps::log_capture capture;
        p->go_on   = go_on;
        p->user    = user;
        p->nodes   = 0;
        p->asked   = 0;
        p->stopped = false;
        const int32_t result = mtmd_encode_chunk(p->context.get(), mtmd_input_chunks_get(media->chunks.get(), index));
        p->go_on             = nullptr;
        p->pause.end();
        if (p->stopped) {
            throw ps::fault(PS_CANCELLED, "nobody waits for the picture or sound any more");
        }
        if (result != 0) {
            throw ps::fault(PS_FAILED, capture.reason("the encoder failed"));
        }
        std::memcpy(out, mtmd_get_output_embd(p->context.get()), size * sizeof(float));
        for (size_t i = 0; i < size; i++) {
            if (!std::isfinite(out[i])) {
                throw ps::fault(PS_FAILED, "the encoder computed what is not a number; the projector's weights are damaged");
            }
        }
    });
}
