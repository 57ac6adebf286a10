// SPDX-License-Identifier: MIT
// Lists what llama.cpp can compute on. build.sh runs it to see whether a program with this library
// starts.
#include "shim/penstock.h"

#include <cstdio>

// Never called: with them the linker looks here for all that the shim needs of common.cmake's list,
// and not first when Go links.
void * volatile texts[] = { reinterpret_cast<void *>(ps_template_new), reinterpret_cast<void *>(ps_answer_new),
                            reinterpret_cast<void *>(ps_detokenize) };

int main() {
    ps_start(nullptr);
    for (int32_t i = 0; i < ps_device_count(); i++) {
        ps_device device;
        ps_error  error;
        if (ps_device_at(i, &device, &error) != PS_OK) {
            std::fprintf(stderr, "%s\n", error.text);
            return 1;
        }
        std::printf("%s: %s\n", device.name, device.description);
    }
    return 0;
}
