// SPDX-License-Identifier: MIT
#ifndef PENSTOCK_KERNEL_CHECK_H
#define PENSTOCK_KERNEL_CHECK_H

#include "penstock.h"

namespace ps {

// ps_kernel_check on the calling thread alone, for a forked child: what an emulator does of threads
// there is anyone's guess. All later checks of the process are on one thread.
int32_t check_kernel_alone(int32_t family, int32_t operation, ps_error * err);

}  // namespace ps

#endif
