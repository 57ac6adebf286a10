// SPDX-License-Identifier: MIT
// A process that looks to the choice of kernels as on a CPU with AMX: a buffer type called AMX
// takes weights in Q8_0 before all others, keeps them in memory that no other may read, and
// multiplies in plain steps. For each choice of kernels it prints who computes the model's weights,
// whether the type computed any product, and the most likely token after two.
#include "penstock.h"

#include "ggml-backend-impl.h"
#include "ggml-cpu.h"
#include "traits.h"

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

namespace {

std::atomic<int> products{ 0 };

struct multiplier : ggml::cpu::tensor_traits {
    bool work_size(int, const ggml_tensor *, size_t & size) override {
        size = 0;
        return true;
    }

    bool compute_forward(ggml_compute_params * params, ggml_tensor * op) override {
        if (params->ith != 0) {
            return true;
        }
        products++;
        const ggml_tensor *w = op->src[0], *x = op->src[1];
        std::vector<float> row(static_cast<size_t>(w->ne[0]));
        for (int64_t i = 0; i < w->ne[1]; i++) {
            ggml_get_type_traits(w->type)->to_float(static_cast<const char *>(w->data) + i * w->nb[1], row.data(), w->ne[0]);
            for (int64_t r = 0; r < x->ne[1]; r++) {
                const auto * in  = reinterpret_cast<const float *>(static_cast<const char *>(x->data) + r * x->nb[1]);
                float        sum = 0;
                for (int64_t k = 0; k < w->ne[0]; k++) {
                    sum += row[k] * in[k];
                }
                reinterpret_cast<float *>(static_cast<char *>(op->data) + r * op->nb[1])[i] = sum;
            }
        }
        return true;
    }
} multiply;

extern ggml_backend_buffer_type type;

bool takes(const ggml_tensor * op) {
    return op->op == GGML_OP_MUL_MAT && op->src[0]->type == GGML_TYPE_Q8_0 && op->src[0]->buffer && op->src[0]->buffer->buft == &type;
}

struct standin : ggml::cpu::extra_buffer_type {
    bool supports_op(ggml_backend_dev_t, const ggml_tensor * op) override { return takes(op); }
    ggml::cpu::tensor_traits * get_tensor_traits(const ggml_tensor * op) override { return takes(op) ? &multiply : nullptr; }
} context;

ggml_backend_buffer_t allocate(ggml_backend_buffer_type_t to, size_t size) {
    auto * buffer             = ggml_backend_buft_alloc_buffer(ggml_backend_cpu_buffer_type(), size);
    buffer->buft              = to;
    buffer->iface.init_tensor = [](ggml_backend_buffer_t, ggml_tensor * t) {
        t->extra = &multiply;
        return GGML_STATUS_SUCCESS;
    };
    return buffer;
}

ggml_backend_buffer_type type = { { [](ggml_backend_buffer_type_t) { return "AMX"; }, allocate,
                                    [](ggml_backend_buffer_type_t) -> size_t { return 64; }, nullptr, nullptr, nullptr },
                                  nullptr, static_cast<ggml::cpu::extra_buffer_type *>(&context) };

void check(int32_t code, const ps_error & err) {
    if (code != PS_OK) {
        std::fprintf(stderr, "%s\n", err.text);
        std::exit(1);
    }
}

void run(const char * path, const uint64_t (&operations)[PS_KERNELS_CHOICES]) {
    ps_kernels_allow(operations);
    products = 0;
    ps_error        err;
    ps_model *      model;
    ps_model_params params{};
    check(ps_model_load(path, &params, nullptr, 0, &model, &err), err);
    ps_weights weights[4];
    size_t     n;
    check(ps_model_weights(model, weights, 4, &n, &err), err);
    ps_context *      c;
    ps_context_params p{};
    p.cells = 64;
    p.batch = p.ubatch = 8;
    p.sequences = 1;
    p.rows = p.threads = p.threads_batch = 2;
    p.rope_scaling = p.flash_attention = -1;
    p.yarn_ext_factor = p.yarn_attn_factor = p.yarn_beta_fast = p.yarn_beta_slow = -1;
    p.type_k = p.type_v = 1;
    check(ps_context_new(model, &p, &c, &err), err);
    const int32_t tokens[] = { 20, 30 }, positions[] = { 0, 1 }, sequences[] = { 0, 0 };
    const bool    outputs[] = { false, true };
    float *       logits;
    float **      states;
    check(ps_decode(c, 2, tokens, positions, sequences, outputs, nullptr, 0, &logits, &states, &err), err);
    ps_model_info info;
    check(ps_model_describe(model, &info, &err), err);
    std::printf("%zu %d %d %d %d\n", n, weights[0].family, products > 0, static_cast<int>(std::max_element(logits, logits + info.vocabulary) - logits),
                ps_model_tokens_at_once(model));
    ps_context_free(c);
    ps_model_free(model);
}

} // namespace

int main(int, char ** arguments) {
    auto & types = ggml_backend_cpu_get_extra_buffer_types();
    types.erase(std::remove_if(types.begin(), types.end(), // where the CPU has AMX
                               [](ggml_backend_buffer_type_t t) { return t && !std::strcmp(ggml_backend_buft_name(t), "AMX"); }),
                types.end());
    types.insert(types.begin(), &type);
    ps_start([](int32_t, char *, size_t) {});
    const uint64_t q8 = uint64_t(1) << GGML_TYPE_Q8_0, own = ps_kernels_known(PS_KERNELS_OWN) & q8;
    ps_error err;
    check(ps_kernel_check(PS_KERNELS_AMX, GGML_TYPE_Q8_0, &err), err);
    std::printf("%d %d\n", ps_kernels_known(PS_KERNELS_AMX) == q8, own != 0);
    run(arguments[1], { own, 0, 0 });
    run(arguments[1], { 0, q8, 0 });
    run(arguments[1], { 0, 0, 0 });
}
