// SPDX-License-Identifier: MIT
// The bounds of JSON that llama.cpp parses.
#pragma once

namespace ps {

// Has llama.cpp parse no JSON that exceeds them from now on: such a text is to it one that is no
// JSON.
void limit_json();

}  // namespace ps
