// SPDX-License-Identifier: MIT
#include "product_case.h"

#include <numeric>

using namespace ps::trial;

ps_product::ps_product(const ps_product_case & of)
    : c(of), holder(new_context()), context(nullptr, ggml_free), weight_memory(nullptr, ggml_backend_buffer_free), buffer(nullptr, ggml_backend_buffer_free),
      computer(c.threads) {
    const auto type = static_cast<ggml_type>(c.type);
    if (c.rows < 1 || c.results < 1 || c.experts < 0 || c.used > c.experts || c.width % ggml_blck_size(type) != 0 ||
        (type != GGML_TYPE_F32 && !ggml_get_type_traits(type)->to_float)) {
        throw ps::fault(PS_INVALID, "no weights have this type and shape");
    }
    const int64_t matrices = std::max(1, c.experts);
    weights = ggml_new_tensor_3d(holder.get(), type, c.width, c.results, matrices);
    auto * const layout = c.as_in_file ? nullptr : penstock_kernels_layout(static_cast<penstock_family>(c.family));
    weight_memory = allocate(holder.get(), layout ? layout : ggml_backend_cpu_buffer_type());
    w = random_numbers().many(c.width * c.results * matrices);
    put(weights, w);
    set_rows(c.rows);
}

void ps_product::set_rows(int64_t rows) {
    c.rows  = static_cast<int32_t>(rows);
    context = new_context();
    const int64_t apart = c.spoiled ? 3 : 0;
    ggml_context * const ctx = context.get();
    const int64_t matrices = mixed() ? c.rows : c.family == PENSTOCK_OWN && c.rows % 2 == 0 ? 2 : 1; // of inputs
    inputs = new_rows(ctx, GGML_TYPE_F32, c.width, mixed() ? inputs_per_row() : c.rows / matrices, matrices, apart);
    ids    = mixed() ? new_rows(ctx, GGML_TYPE_I32, c.used, c.rows, 1, apart) : nullptr;
    out    = mixed() ? ggml_mul_mat_id(ctx, weights, inputs, ids) : ggml_mul_mat(ctx, weights, inputs);
    buffer = allocate(ctx, ggml_backend_cpu_buffer_type());
    graph  = ggml_new_graph(ctx);
    ggml_build_forward_expand(graph, out);
    put_inputs(random_numbers{ 7 }.many(c.width * c.rows * inputs_per_row()).data());
    if (mixed()) {
        std::vector<int32_t> some;
        for (int32_t i = 0; i < c.rows * c.used; i++) {
            const int32_t row = i / c.used, n = i % c.used;
            some.push_back((row * 7 + n * n * 3 + n) % c.experts);
        }
        put_experts(some.data());
    }
}

void ps_product::put_weights(const void * as_in_file) {
    ggml_get_type_traits(weights->type)->to_float(as_in_file, w.data(), static_cast<int64_t>(w.size()));
    put_rows(weights, as_in_file);
}

void ps_product::put_inputs(const float * numbers) {
    x.assign(numbers, numbers + c.width * c.rows * inputs_per_row());
    put(inputs, x);
}

void ps_product::put_experts(const int32_t * numbers) {
    experts.assign(numbers, numbers + static_cast<ptrdiff_t>(c.rows) * used());
    for (const int32_t e : experts) {
        if (e < 0 || e >= c.experts) {
            throw ps::fault(PS_INVALID, "there is no such expert");
        }
    }
    put_rows(ids, experts.data());
}

bool ps_product::is_supported() const { return ggml_backend_supports_op(computer.backend.get(), out); }

bool ps_product::is_looked_up() const {
    const auto           ctx     = new_context();
    ggml_tensor * const  numbers = ggml_new_tensor_1d(ctx.get(), GGML_TYPE_I32, c.results);
    ggml_tensor * const  rows    = ggml_get_rows(ctx.get(), weights, numbers);
    const auto           memory  = allocate(ctx.get(), ggml_backend_cpu_buffer_type());
    ggml_cgraph * const  lookup  = ggml_new_graph(ctx.get());
    std::vector<int32_t> backwards(static_cast<size_t>(c.results));
    std::iota(backwards.rbegin(), backwards.rend(), 0);
    put_rows(numbers, backwards.data());
    ggml_build_forward_expand(lookup, rows);
    const auto got = computer.compute(lookup, rows, c.guard);
    for (int64_t i = 0; i < c.results; i++) {
        if (memcmp(&got[i * c.width], &w[(c.results - 1 - i) * c.width], c.width * sizeof(float)) != 0) {
            return false;
        }
    }
    return true;
}

std::vector<float> ps_product::computed() { return computer.compute(graph, out, c.guard); }

std::vector<float> ps_product::computed_plainly() const {
    std::vector<float> all;
    for (int64_t i = 0; i < int64_t(c.rows) * used() * c.results; i++) {
        const int64_t result = i % c.results, slot = i / c.results % used(), row = i / c.results / used();
        const int64_t matrix = mixed() ? experts[row * c.used + slot] : 0;
        const float * a = &w[(matrix * c.results + result) * c.width];
        const float * b = &x[(row * inputs_per_row() + slot % inputs_per_row()) * c.width];
        double        sum = 0;
        for (int64_t k = 0; k < c.width; k++) {
            sum += double(a[k]) * b[k];
        }
        all.push_back(static_cast<float>(sum));
    }
    return all;
}

int32_t ps_product_new(const ps_product_case * of, ps_product ** to, ps_error * err) noexcept {
    return ps::guarded(err, [&] { *to = new ps_product(*of); });
}

void ps_product_free(ps_product * p) noexcept { delete p; }

int32_t ps_product_put(ps_product * p, const void * weights, const float * inputs, const int32_t * experts, ps_error * err) noexcept {
    return ps::guarded(err, [&] {
        if (weights) {
            p->put_weights(weights);
        }
        if (inputs) {
            p->put_inputs(inputs);
        }
        if (experts) {
            p->put_experts(experts);
        }
    });
}

int32_t ps_product_compute(ps_product * p, int32_t plainly, float * out, ps_error * err) noexcept {
    return ps::guarded(err, [&] {
        const auto all = plainly ? p->computed_plainly() : p->computed();
        std::copy(all.begin(), all.end(), out);
    });
}

int32_t ps_product_copy_weights(const ps_product * from, ps_product * to, size_t offset, size_t size, ps_error * err) noexcept {
    return ps::guarded(err, [&] {
        const size_t all = ggml_nbytes(from->weights);
        if (all != ggml_nbytes(to->weights) || offset > all || size > all - offset) {
            throw ps::fault(PS_INVALID, "the weights do not have these bytes");
        }
        std::vector<uint8_t> bytes(size);
        ggml_backend_tensor_get(from->weights, bytes.data(), offset, size);
        ggml_backend_tensor_set(to->weights, bytes.data(), offset, size);
    });
}
