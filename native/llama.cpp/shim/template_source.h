// SPDX-License-Identifier: MIT
#pragma once

#include <string>

namespace ps {

// Throws a fault for a template that is too large or nests too deep to be given to llama.cpp.
void check_template_size(const std::string & source);

// Throws a fault that names the line of a template where llama.cpp's parser stops. It needs a large
// stack.
void check_template_syntax(const std::string & source);

}  // namespace ps
