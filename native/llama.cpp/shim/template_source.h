// SPDX-License-Identifier: MIT
#pragma once

#include <string>

namespace ps {

// Throws a fault for a template that is too large or nests too deep to be given to llama.cpp.
void check_template_size(const std::string & source);

// Whether llama.cpp can read a template. It needs a large stack.
bool is_template(const std::string & source);

}  // namespace ps
