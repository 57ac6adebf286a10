// SPDX-License-Identifier: MIT
// Lists what llama.cpp can compute on. build.sh runs it to see whether a program with this library starts.
#include "shim/penstock.h"

#include <cstdio>

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
