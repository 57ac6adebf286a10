// SPDX-License-Identifier: MIT
// What comes before all JSON that llama.cpp parses. It walks values recursively, compares each key
// of an object with all before it, and makes much of each value, so a text that a client wrote
// could overflow the stack or take hours. llama.cpp's json.cpp is built with common_json::parse
// under another name; parse.cpp has the one that everybody calls, which looks at the text first.
// The one exception is the parser of answers that llama.cpp itself writes as JSON: with many tools
// it is longer than what clients may send.
#ifndef PENSTOCK_PARSE_H
#define PENSTOCK_PARSE_H

#include <atomic>
#include <string>

namespace penstock {

// Throws where a text exceeds the bounds. Null until the shim sets it.
using json_check = void (*)(const std::string & text);

inline std::atomic<json_check> check_json{ nullptr };

}  // namespace penstock

#endif
