// SPDX-License-Identifier: MIT
#include "json_limits.h"

#include "json.h"
#include "parse.h"
#include "shim.h"

#include <cstdint>

namespace {

constexpr size_t   max_size     = size_t(64) << 20;
constexpr size_t   max_values   = 500000;    // and keys: a template's value takes some hundred bytes
constexpr uint64_t max_compared = 12500000;  // keys, each with those before it in its object: 5,000 in one; a tenth of a second
constexpr size_t   own_nesting  = 28;        // around what a client gave, in what Penstock and llama.cpp write

// Counts in a text what it will become. llama.cpp itself refuses what is not JSON.
class excess {
  public:
    explicit excess(size_t max_nesting) : max_nesting(max_nesting) {}

    // Empty, or what is too much.
    std::string of(const char * text, size_t size) {
        if (size > max_size) {
            return "is longer than " + std::to_string(max_size >> 20) + " MiB";
        }
        for (size_t i = 0; i < size && too_much.empty(); i++) {
            if (text[i] == '"') {
                i = end_of_string(text, size, i + 1);
            } else {
                count(text[i]);
            }
        }
        return too_much;
    }

  private:
    static size_t end_of_string(const char * text, size_t size, size_t i) {
        while (i < size && text[i] != '"') {
            i += text[i] == '\\' ? 2 : 1;
        }
        return i;
    }

    void count(char ch) {
        switch (ch) {
            case '[':
            case '{':
                keys.push_back(0);  // a list counts as an object without keys
                break;
            case ']':
            case '}':
                if (!keys.empty()) {
                    keys.pop_back();
                }
                return;
            case ':':
                if (!keys.empty()) {
                    compared += keys.back()++;
                }
                break;
            case ',': break;
            default: return;
        }
        if (keys.size() > max_nesting) {
            too_much = "nests more than " + std::to_string(max_nesting) + " deep";
        } else if (compared > max_compared) {
            too_much = "has too many keys in its objects: at most 5000 are taken in one, and fewer in each of many";
        } else if (++values > max_values) {
            too_much = "has more than " + std::to_string(max_values) + " values and keys";
        }
    }

    size_t                max_nesting, values = 0;
    uint64_t              compared = 0;
    std::vector<uint32_t> keys;  // so far, of each enclosing object
    std::string           too_much;
};

void check(const std::string & text) {
    const std::string too_much = excess(PS_JSON_NESTING + own_nesting).of(text.data(), text.size());
    if (!too_much.empty()) {
        throw common_json_error("the JSON " + too_much);
    }
}

}  // namespace

void ps::limit_json() { penstock::check_json = check; }

int32_t ps_json_check(const char * text, size_t size, ps_error * err) noexcept {
    return ps::guarded(err, [&] {
        const std::string too_much = excess(PS_JSON_NESTING).of(text, size);
        if (!too_much.empty()) {
            throw ps::fault(PS_INVALID, too_much);
        }
    });
}
