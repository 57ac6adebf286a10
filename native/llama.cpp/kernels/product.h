// SPDX-License-Identifier: MIT
// Products of quantised weights and rows of inputs. As many rows of weights are computed side by
// side as a register has lanes. Inputs are quantised to blocks of 32 bytes with a scale, finer than
// ggml's for most types. A row's result is the same to the bit however many other rows there are.
//
// A format says how its weights become blocks of 32 bytes; a CPU how registers of them are
// multiplied (lanes.h). The rest is here.
#ifndef PENSTOCK_PRODUCT_H
#define PENSTOCK_PRODUCT_H

#include "layout.h"

#ifdef PENSTOCK_PRODUCTS

#include "ggml-cpu.h"

#include <algorithm>

namespace penstock {

constexpr int64_t block_values = 32;
constexpr int64_t group_rows   = 64; // rows of inputs that weights are multiplied with each time they are unpacked
constexpr int64_t unit_results = 16; // rows of weights in a unit of work: they stay in the core's own cache for all groups of inputs

// A block of a row of inputs: values times scale.
struct input_block {
    int8_t  values[block_values];
    float   scale;
    float   sum;      // of all of them, scaled
    int32_t start[2]; // where sums of products start: minus the weights' offset times the values, of each half if it has a scale of its own

    template <typename Format> void quantise(const float * from) {
        constexpr int parts = block_values / lanes;
        floats x[parts];
        memcpy(x, from, sizeof(x));
        ints largest{}; // the bits of magnitudes are in the order of the magnitudes, and those of NaN are the largest
        for (const floats & part : x) {
            const ints bits = reinterpret_cast<ints>(part) & 0x7fffffff;
            largest = bits > largest ? bits : largest;
        }
        int32_t bits = 0;
        for (int i = 0; i < lanes; i++) {
            bits = std::max<int32_t>(bits, largest[i]);
        }
        float magnitude;
        memcpy(&magnitude, &bits, sizeof(magnitude));
        const floats inverse = splat(magnitude > 1e-30f ? 127 / magnitude : 0.0f);
        const floats magic   = splat(1.5f * (1 << 23)); // floats of this size have no fraction: their lowest bits are a whole number
        for (int i = 0; i < parts; i++) {
            const bytes whole = __builtin_convertvector(reinterpret_cast<ints>(fma(x[i], inverse, magic)), bytes);
            memcpy(values + i * lanes, &whole, sizeof(whole));
        }
        const words   one = words{} + 0x01010101, ones[4] = { one, one, one, one };
        const int32_t sums[2] = { dot<1, 4>(ints{}, ones, values)[0], dot<1, 4>(ints{}, ones, values + 16)[0] };
        scale    = magnitude / 127;
        sum      = scale * static_cast<float>(sums[0] + sums[1]);
        start[0] = -Format::offset * (Format::scales == 2 ? sums[0] : sums[0] + sums[1]);
        start[1] = -Format::offset * sums[1];
    }
};

// A block of as many rows of weights as there are lanes: values without the offset, times the
// scale, plus the minimum.
struct weight_block {
    words  values[8];
    floats scale[2]; // of each half, or of all
    floats minimum;

    template <typename Format> floats times(const input_block & x, floats sum) const {
        constexpr int halves = Format::scales;
        const auto part = [&](int i) { // of the sum
            const ints start = Format::offset ? splat(x.start[i]) : ints{};
            return to_floats(dot<Format::largest, 8 / halves>(start, values + 4 * i, x.values + 16 * i));
        };
        floats product = part(0) * scale[0];
        if (halves == 2) {
            product = fma(part(1), scale[1], product);
        }
        sum = fma(product, splat(x.scale), sum);
        return Format::has_minimum ? fma(minimum, splat(x.sum), sum) : sum;
    }
};

// A format is a type with
//   size, blocks               of a block in the file: its bytes, and how often 32 values it has
//   pieces                     of that block, in the order in which they are read (layout.h)
//   largest, offset            of its weights, see dot: the largest, and what was added to them
//   scales                     1: a block has one, 2: each half has one
//   has_minimum
//   unpack(in, take)           calls take(block, i) for each block i of a group_block, in any order

// Fetches what will be read some blocks later, which the core does not do by itself while it
// computes many rows with each block. It is inlined, or GCC takes it for a call without effect.
template <typename Format> PENSTOCK_INLINE void prefetch(const char * weights, int64_t block) {
    constexpr int64_t bytes = lanes * Format::size / Format::blocks;
    const char * next = weights + block * bytes + 2048;
    for (int64_t line = 0; line < bytes; line += 64) {
        __builtin_prefetch(next + line);
    }
}

// Adds to sums the products of rows of weights with n rows of inputs, whose blocks are interleaved:
// the first of each row, then the second of each. Where N is not 0, it is n: then sums stay in
// registers.
template <typename Format, int N> __attribute__((noinline)) void multiply(const weight_rows & weights, int64_t width, const input_block * x, int64_t n, floats * sums) {
    constexpr int64_t values = Format::blocks * block_values;
    alignas(64) char  memory[lanes * Format::size];
    for (int64_t i = 0; i < width / values; i++, x += Format::blocks * (N ? N : n)) {
        Format::unpack(weights.block<Format>(i, memory), [&](const weight_block & w, int64_t block) __attribute__((always_inline)) {
            if (N != 1) {
                prefetch<Format>(weights.data, i * Format::blocks + block);
            }
            for (int64_t r = 0; r < (N ? N : n); r++) {
                sums[r] = w.template times<Format>(x[block * (N ? N : n) + r], sums[r]);
            }
        });
    }
}

// The results [first, last) of a matrix of weights with n rows of inputs, at most group_rows; those
// of row r go to to[r]. The first is a multiple of the lanes.
template <typename Format>
void multiply(const weight_matrix & matrix, int64_t width, int64_t first, int64_t last, const input_block * x, int64_t n, float * const * to) {
    for (int64_t m = first; m < last; m += lanes) {
        const weight_rows weights(matrix, m);
        floats sums[group_rows];
        if (n == 1) {
            floats sum[1] = {};
            multiply<Format, 1>(weights, width, x, 1, sum);
            sums[0] = sum[0];
        } else {
            std::fill_n(sums, n, floats{});
            multiply<Format, 0>(weights, width, x, n, sums);
        }
        for (int64_t r = 0; r < n; r++) {
            memcpy(to[r] + m, sums + r, static_cast<size_t>(std::min<int64_t>(lanes, last - m)) * sizeof(float));
        }
    }
}

// One matrix by one matrix, as in the layers of a dense model. Shapes (innermost first): weights
// [width, results], inputs [width, rows], out [results, rows]; rows may be those of several
// matrices.
struct product {
    const ggml_tensor *weights, *inputs;
    ggml_tensor *      out;
    int64_t            width, results, rows;

    explicit product(const ggml_tensor * op)
        : weights(op->src[0]), inputs(op->src[1]), out(const_cast<ggml_tensor *>(op)), width(weights->ne[0]),
          results(weights->ne[1]), rows(ggml_nrows(inputs)) {}

    bool has_kernel() const {
        return weights->ne[2] == 1 && weights->ne[3] == 1 && inputs->type == GGML_TYPE_F32 && inputs->nb[0] == sizeof(float) &&
               out->type == GGML_TYPE_F32 && out->nb[0] == sizeof(float) && !weights->extra;
    }

    int64_t blocks() const { return width / block_values; } // in a row

    const float * input(int64_t row) const { return reinterpret_cast<const float *>(address(inputs, row)); }

    float * result(int64_t row) const { return reinterpret_cast<float *>(address(out, row)); }

  private:
    static char * address(const ggml_tensor * t, int64_t row) {
        const int64_t matrix = row / t->ne[1];
        return static_cast<char *>(t->data) + row % t->ne[1] * t->nb[1] + matrix % t->ne[2] * t->nb[2] + matrix / t->ne[2] * t->nb[3];
    }
};

template <typename Format> struct product_kernel : ggml::cpu::tensor_traits {
    bool work_size(int threads, const ggml_tensor * op, size_t & size) override {
        const product a(op);
        size = threads * sizeof(work_range) + static_cast<size_t>(a.rows * a.blocks()) * sizeof(input_block) + 64;
        return true;
    }

    // A thread's share of the inputs.
    static void quantise(const product & a, int64_t thread, int64_t threads, input_block * to) {
        const int64_t all = a.rows * a.blocks();
        for (int64_t i = all * thread / threads; i < all * (thread + 1) / threads; i++) {
            const int64_t row = i / a.blocks(), block = i % a.blocks(), group = row - row % group_rows;
            to[group * a.blocks() + block * std::min(group_rows, a.rows - group) + row - group].quantise<Format>(a.input(row) + block * block_values);
        }
    }

    static void compute(const product & a, int64_t first, int64_t last, const input_block * inputs) {
        for (int64_t r = 0; r < a.rows; r += group_rows) {
            const int64_t n = std::min(group_rows, a.rows - r);
            float * to[group_rows];
            for (int64_t i = 0; i < n; i++) {
                to[i] = a.result(r + i);
            }
            multiply<Format>(weight_matrix(a.weights, 0), a.width, first, last, inputs + r * a.blocks(), n, to);
        }
    }

    bool compute_forward(ggml_compute_params * params, ggml_tensor * op) override {
        if (params->use_ref) {
            return false; // ggml's kernel is the reference; it fits in the memory above
        }
        const product a(op);
        auto * const  ranges = reinterpret_cast<work_range *>(aligned_memory(params));
        auto * const  inputs = reinterpret_cast<input_block *>(ranges + params->nth);
        quantise(a, params->ith, params->nth, inputs);
        share_ranges(params, ranges, (a.results + unit_results - 1) / unit_results, [&](int64_t unit) {
            compute(a, unit * unit_results, std::min((unit + 1) * unit_results, a.results), inputs);
        });
        return true;
    }
};

} // namespace penstock

#endif
#endif
