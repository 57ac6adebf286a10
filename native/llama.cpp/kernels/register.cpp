// SPDX-License-Identifier: MIT
// How kernels enter ggml. ggml-cpu asks its extra buffer types for each operation before it takes
// its own kernel, and asks them which weights they want to lay out. Penstock's kernels are one more
// such type; ggml's own types are wrapped, so that they are offered only what they are allowed.
// llama.cpp's source stays as it is.
#include "kernels.h"

#include "operation.h"
#include "pausing.h"

#include "ggml-backend-impl.h"
#include "ggml-cpu.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstring>

namespace {

std::atomic<uint64_t> allowed[penstock_choices];
std::atomic<int>      attention_by{ 0 };

int operation_of(const ggml_tensor * op) {
    return op->op == GGML_OP_FLASH_ATTN_EXT ? penstock_attention : op->src[0] ? op->src[0]->type : 0;
}

bool may(penstock_family family, int operation) { return allowed[family].load(std::memory_order_relaxed) >> operation & 1; }

// A family, as an extra buffer type.
struct provider : ggml::cpu::extra_buffer_type {
    penstock_family       family;
    std::atomic<uint64_t> crashing{ 0 }, wrong{ 0 }; // operations with an injected fault

    explicit provider(penstock_family f) : family(f), faulty(this) {}

    virtual ggml::cpu::tensor_traits * kernel(const ggml_tensor * op) = 0;

    ggml::cpu::tensor_traits * get_tensor_traits(const ggml_tensor * op) override {
        auto * found = kernel(op);
        return found && (crashing | wrong) >> operation_of(op) & 1 ? &faulty : found;
    }

  private:
    struct faulty_kernel : ggml::cpu::tensor_traits {
        provider * from;

        explicit faulty_kernel(provider * p) : from(p) {}

        bool work_size(int threads, const ggml_tensor * op, size_t & size) override { return from->kernel(op)->work_size(threads, op, size); }

        bool compute_forward(ggml_compute_params * params, ggml_tensor * op) override {
            if (from->crashing >> operation_of(op) & 1) {
                __builtin_trap();
            }
            const bool done = from->kernel(op)->compute_forward(params, op);
            ggml_barrier(params->threadpool);
            if (done && params->ith == 0) {
                float & last = static_cast<float *>(op->data)[ggml_nelements(op) - 1];
                last         = 3 * std::fabs(last) + 1; // no number is near what becomes of it
            }
            return done;
        }
    } faulty;
};

// Penstock's own.
struct own_provider : provider {
    own_provider() : provider(PENSTOCK_OWN) {}

    // Asked of weights in its layout, or that may be laid out so.
    bool supports_op(ggml_backend_dev_t, const ggml_tensor * op) override {
        return op->src[0] && penstock::is_laid_out(op->src[0]) && (op->op == GGML_OP_GET_ROWS ? lookup(op) : product(op));
    }

    ggml::cpu::tensor_traits * kernel(const ggml_tensor * op) override {
        static penstock::pausing_kernel pausing(kernel_of);
        return penstock_pause_of(op) ? &pausing : kernel_of(op);
    }

    static ggml::cpu::tensor_traits * kernel_of(const ggml_tensor * op) {
        switch (op->op) {
            case GGML_OP_FLASH_ATTN_EXT: return attention(op);
            case GGML_OP_MUL_MAT:
            case GGML_OP_MUL_MAT_ID:     return checked(op, product(op));
            case GGML_OP_GET_ROWS:       return checked(op, lookup(op));
            default:                     return nullptr;
        }
    }

    static ggml::cpu::tensor_traits * attention(const ggml_tensor * op) {
        auto *    found = may(PENSTOCK_OWN, penstock_attention) ? penstock::attention_for(op) : nullptr;
        const int bit   = found ? 1 : 2;
        const bool encodes = penstock_pause_of(op); // a picture, whose sums nobody compares with those of other threads
        if (!encodes && !(attention_by.load(std::memory_order_relaxed) & bit)) {
            attention_by |= bit;
        }
        return found;
    }

    // Weights that are laid out already can be computed by nothing else.
    static bool is_fixed(const ggml_tensor * weights) { return weights->data && penstock::is_laid_out(weights); }

    static ggml::cpu::tensor_traits * product(const ggml_tensor * op) {
        return may(PENSTOCK_OWN, op->src[0]->type) || is_fixed(op->src[0]) ? penstock::product_for(op) : nullptr;
    }

    // Other weights than the embedding that are only looked up stay as they are in the file.
    static ggml::cpu::tensor_traits * lookup(const ggml_tensor * op) {
        const ggml_tensor * weights = op->src[0];
        const bool          wanted  = penstock::loading().embedding && strcmp(weights->name, "token_embd.weight") == 0 && may(PENSTOCK_OWN, weights->type);
        return is_fixed(weights) || (!weights->data && wanted) ? penstock::lookup_for(op) : nullptr;
    }

    static ggml::cpu::tensor_traits * checked(const ggml_tensor * op, ggml::cpu::tensor_traits * found) {
        if (!found && is_fixed(op->src[0])) {
            GGML_ABORT("no kernel computes %s with the weights %s in Penstock's layout: --no-repack leaves them as they are", op->name, op->src[0]->name);
        }
        return found;
    }
};

// A type of ggml's. Weights that it has laid out can be computed by no other, so it is kept only
// from those that are still to be laid out.
struct ggml_provider : provider {
    ggml::cpu::extra_buffer_type * wrapped;

    ggml_provider(penstock_family f, void * context) : provider(f), wrapped(static_cast<ggml::cpu::extra_buffer_type *>(context)) {}

    bool supports_op(ggml_backend_dev_t device, const ggml_tensor * op) override {
        const ggml_tensor * weights = op->src[0];
        const bool          loading = weights && !weights->data;
        return wrapped->supports_op(device, op) && (!loading || (may(family, weights->type) && !own_provider::product(op)));
    }

    ggml::cpu::tensor_traits * kernel(const ggml_tensor * op) override { return wrapped->get_tensor_traits(op); }
};

own_provider & own() {
    static own_provider it;
    return it;
}

// The families behind ggml's buffer types, by the names of those.
penstock_family family_of(ggml_backend_buffer_type_t type) {
    const char * name = type->iface.get_name(type);
    return type == penstock::layout() ? PENSTOCK_OWN : strcmp(name, "AMX") == 0 ? PENSTOCK_AMX : strcmp(name, "CPU_REPACK") == 0 ? PENSTOCK_REPACK : PENSTOCK_PLAIN;
}

ggml_backend_buffer_type_t types[penstock_choices]; // null: not in this build, or not on this CPU

void register_providers() {
    static const bool once = [] {
        auto & extra = ggml_backend_cpu_get_extra_buffer_types();
        for (auto * type : extra) {
            const auto family = family_of(type);
            if (family != PENSTOCK_PLAIN) {
                type->context = new ggml_provider(family, type->context); // for as long as the process lives, like the type
                types[family] = type;
            }
        }
        if (auto * layout = types[PENSTOCK_OWN] = penstock::layout()) {
            layout->context = &own();
            extra.insert(extra.begin(), layout); // before those with kernels for the same weights
        }
        return true;
    }();
    (void) once;
}

provider * provider_of(penstock_family family) {
    return types[family] ? static_cast<provider *>(static_cast<ggml::cpu::extra_buffer_type *>(types[family]->context)) : nullptr;
}

// Whether one of ggml's has a kernel for weights of a type, in a shape that suits all.
bool has_kernel(ggml_provider * to, ggml_backend_buffer_type_t layout, ggml_type type) {
    if (ggml_blck_size(type) == 0 || !ggml_get_type_traits(type)->to_float) {
        return false;
    }
    ggml_context * context = ggml_init({ 4 * ggml_tensor_overhead(), nullptr, true });
    ggml_tensor *  weights = ggml_new_tensor_2d(context, type, 512, 64);
    ggml_tensor *  product = ggml_mul_mat(context, weights, ggml_new_tensor_2d(context, GGML_TYPE_F32, 512, 16));
    weights->buffer        = ggml_backend_buft_alloc_buffer(layout, 0);
    const bool known       = weights->buffer && to->wrapped->supports_op(nullptr, product);
    ggml_backend_buffer_free(weights->buffer);
    ggml_free(context);
    return known;
}

} // namespace

uint64_t penstock_kernels_known(penstock_family family) {
    register_providers();
    uint64_t all = 0;
    if (family == PENSTOCK_OWN) {
#ifndef PENSTOCK_NO_KERNELS
        all |= uint64_t(1) << penstock_attention;
#endif
        all |= penstock::product_types();
    } else if (family != PENSTOCK_PLAIN && types[family]) {
        for (int type = 0; type < GGML_TYPE_COUNT; type++) {
            all |= uint64_t(has_kernel(static_cast<ggml_provider *>(provider_of(family)), types[family], static_cast<ggml_type>(type))) << type;
        }
    }
    return all;
}

penstock::load_choice & penstock::loading() {
    static thread_local load_choice it;
    return it;
}

void penstock_load_begins(int threads, bool embedding) { penstock::loading() = { threads, embedding }; }
void penstock_load_ends() { penstock::loading() = {}; }

const char * penstock_product_instructions() { return penstock::product_instructions(); }

void penstock_kernels_allow(const uint64_t (&operations)[penstock_choices]) {
    register_providers();
    for (int family = 0; family < penstock_choices; family++) {
        allowed[family] = operations[family];
    }
    attention_by = 0;
}

penstock_family penstock_kernels_of(const ggml_tensor * weights) {
    const auto layout = weights->buffer ? family_of(weights->buffer->buft) : PENSTOCK_PLAIN;
    if (layout == PENSTOCK_PLAIN && weights->buffer && !ggml_backend_buffer_is_host(weights->buffer)) {
        return PENSTOCK_PLAIN; // on a device, whose kernels are none of these
    }
    if (layout != PENSTOCK_PLAIN && layout != PENSTOCK_OWN) {
        return layout;
    }
    const bool known = penstock::product_types() >> weights->type & 1;
    return known && (layout == PENSTOCK_OWN || may(PENSTOCK_OWN, weights->type)) ? PENSTOCK_OWN : PENSTOCK_PLAIN;
}

int penstock_attention_computed_by() { return attention_by; }

ggml_backend_buffer_type * penstock_kernels_layout(penstock_family family) {
    register_providers();
    const bool attention_only = family == PENSTOCK_OWN && penstock::product_types() == 0; // whose buffer type holds nothing
    return family == PENSTOCK_PLAIN || attention_only ? nullptr : types[family];
}

void penstock_kernel_inject_fault(penstock_family family, int operation, penstock_fault kind) {
    register_providers();
    if (auto * to = family < penstock_choices ? provider_of(family) : nullptr) {
        const uint64_t bit = uint64_t(1) << operation;
        to->crashing       = kind == PENSTOCK_CRASH ? to->crashing | bit : to->crashing & ~bit;
        to->wrong          = kind == PENSTOCK_WRONG_RESULT ? to->wrong | bit : to->wrong & ~bit;
    }
}

static_assert(GGML_TYPE_COUNT <= penstock_attention, "an operation is a bit of 64");
