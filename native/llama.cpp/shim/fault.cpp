// SPDX-License-Identifier: MIT
#include "fault.h"

#include <cstring>

namespace ps {

size_t clip(const char * text, size_t size, size_t max) noexcept {
    if (size <= max) {
        return size;
    }
    size_t end = max;
    while (end > 0 && max - end < 4 && (static_cast<uint8_t>(text[end]) & 0xc0) == 0x80) {
        end--;
    }
    return end;
}

int32_t report(ps_error * err, int32_t code, const char * text) noexcept {
    if (err) {
        err->code         = code;
        text              = text && *text ? text : "no reason given";
        const size_t size = clip(text, std::strlen(text), sizeof(err->text) - 1);
        std::memcpy(err->text, text, size);
        err->text[size] = 0;
    }
    return code;
}

}  // namespace ps
