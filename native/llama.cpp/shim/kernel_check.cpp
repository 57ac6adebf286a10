// SPDX-License-Identifier: MIT
// Checks kernels before they are used: each computes a small operation, and the result is compared
// with the same in plain steps. This file is compiled for any CPU, so that it cannot share a fault
// with what it checks.
#include "kernel_check.h"

#include "attention_case.h"
#include "kernels/kernels.h"
#include "product_case.h"
#include "shim.h"

#include <algorithm>
#include <cmath>

namespace {

using namespace ps::trial;

int32_t check_threads = 2;

// No number may be off by more than the tolerance, as a share of the root mean square of all.
void compare(const std::vector<float> & got, const std::vector<float> & want, float tolerance, int64_t rows) {
    double squares = 0, worst = 0;
    bool   finite = true;
    for (size_t i = 0; i < want.size(); i++) {
        squares += double(want[i]) * want[i];
        worst   = std::max(worst, std::fabs(double(got[i]) - want[i]));
        finite  = finite && std::isfinite(got[i]);
    }
    const double off = worst / std::sqrt(squares / double(want.size()));
    if (!finite || !(off <= tolerance)) {
        char text[128];
        std::snprintf(text, sizeof(text), "with %d rows a result is off by %.2g of their size; %.2g would be rounding", int(rows),
                      finite ? off : INFINITY, double(tolerance));
        throw ps::fault(PS_FAILED, text);
    }
}

constexpr int64_t row_counts[] = { 1, 4, 16, 64 };

void check_rows(ps_product & p) {
    for (const int64_t rows : row_counts) {
        p.set_rows(rows);
        compare(p.computed(), p.computed_plainly(), 0.05f, rows); // inputs have eight bits, or a few more
    }
}

// A matrix's product, and that of a mixture of experts where the family has it: of few experts, so
// that each has several rows.
void check_product(penstock_family family, ggml_type type, bool as_in_file) {
    ps_product_case c{};
    c.family     = family;
    c.type       = type;
    c.as_in_file = as_in_file;
    c.width      = 512;
    c.results    = 160;
    c.rows       = 1;
    c.threads    = check_threads;
    ps_product one(c);
    if (penstock_kernels_of(one.weights) != family) {
        throw ps::fault(PS_INVALID, "these kernels do not compute it");
    }
    check_rows(one);
    if (family == PENSTOCK_OWN && !as_in_file) {
        c.results = 75; // some fill no group of rows
        if (!ps_product(c).is_looked_up()) {
            throw ps::fault(PS_FAILED, "rows of laid out weights are not read as they were written");
        }
    }
    c.results = 48;
    c.experts = 3;
    c.used    = 2;
    ps_product several(c);
    if (penstock_kernels_of(several.weights) == family && several.is_supported()) {
        check_rows(several);
    }
}

// Heads that are no power of two, which is where ALiBi is not simple, and all that a model may ask
// of attention, each once.
void check_attention(penstock_family family) {
    ps_attention_case plain{};
    plain.head_dim_k = plain.head_dim_v = 64;
    plain.heads      = 6;
    plain.kv_heads   = 2;
    plain.cells      = 192;
    plain.sequences = 2;
    plain.threads   = check_threads;
    plain.k_type = plain.v_type = GGML_TYPE_F16;
    auto capped = plain, biased = plain, sunk = plain, eight_bits = plain, four_bits = plain;
    capped.soft_cap = 2;
    biased.max_bias = 8;
    sunk.sinks      = 1;
    eight_bits.k_type = eight_bits.v_type = GGML_TYPE_Q8_0;
    four_bits.k_type = four_bits.v_type = GGML_TYPE_Q4_0;
    for (const auto & c : { plain, capped, biased, sunk, eight_bits, four_bits }) {
        const bool exact = family == PENSTOCK_OWN && !ggml_is_quantized(static_cast<ggml_type>(c.k_type)); // ggml's keeps sums in 16 bits; queries for quantised keys have eight
        for (const int64_t rows : row_counts) {
            auto sized = c;
            sized.rows = static_cast<int32_t>(rows);
            sized.sequences = rows > 1 ? 2 : 1;
            sized.cells     = c.cells / 2 * sized.sequences;
            ps_attention a(sized);
            compare(a.computed(), a.computed_plainly(), exact ? 0.002f : 0.05f, rows);
        }
    }
}

}  // namespace

int32_t ps::check_kernel_alone(int32_t family, int32_t operation, ps_error * err) {
    check_threads = 1;
    return ps_kernel_check(family, operation, err);
}

int32_t ps_kernel_check(int32_t family, int32_t operation, ps_error * err) noexcept {
    return ps::guarded(err, [&] {
        if (family < 0 || family > PS_KERNELS_PLAIN || *ps_operation_name(operation) == 0) {
            throw ps::fault(PS_INVALID, "there is no such kernel");
        }
        uint64_t only[PS_KERNELS_CHOICES] = {};
        if (family < PS_KERNELS_CHOICES) {
            only[family] = uint64_t(1) << operation;
        }
        ps_kernels_allow(only);
        if (operation == PS_ATTENTION) {
            check_attention(static_cast<penstock_family>(family));
        } else {
            check_product(static_cast<penstock_family>(family), static_cast<ggml_type>(operation), false);
            if (family == PENSTOCK_OWN) { // which takes both
                check_product(PENSTOCK_OWN, static_cast<ggml_type>(operation), true);
            }
        }
    });
}
