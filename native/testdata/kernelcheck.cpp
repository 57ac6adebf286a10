// SPDX-License-Identifier: MIT
// Checks each of Penstock's kernels that it is linked with: scripts/compilers.sh links those of
// other compilers.
#include "kernels/kernels.h"
#include "penstock.h"

#include <cstdio>

int main() {
    int checked = 0, broken = 0;
    for (int32_t operation = 0; operation <= PS_ATTENTION; operation++) {
        if (!(ps_kernels_known(PS_KERNELS_OWN) >> operation & 1)) {
            continue;
        }
        ps_error error;
        checked++;
        if (ps_kernel_check(PS_KERNELS_OWN, operation, &error) != PS_OK) {
            std::printf("%s: %s\n", ps_operation_name(operation), error.text);
            broken++;
        }
    }
    const char * const instructions = ps_product_instructions();
    if (!penstock_kernels_layout(PENSTOCK_OWN) != !*instructions) {
        std::printf("weights have a layout of Penstock's where there are no products, or have none where there are\n");
        broken++;
    }
    std::printf("%d kernels checked (products: %s), %d broken\n", checked, *instructions ? instructions : "none", broken);
    return checked == 0 || broken > 0;
}
