// SPDX-License-Identifier: MIT
// Answers to conversations: llama.cpp's parsers take reasoning, content and tool calls out of their
// text.
#include "shim.h"

#include "chat-peg-parser.h"
#include "chat.h"
#include "json.h"

#include <algorithm>

struct ps_answer {
    common_chat_parser_params params;
    std::string               text;
    common_chat_msg           message;  // what was found so far; it only grows
    int                       depth   = 0;
    bool                      has_ids = false;  // the model gives its calls ids, perhaps behind their arguments
    ps::counted               count{ ps::live_answers };
};

namespace {

// A parser recurses with the nesting of JSON in the text, and takes some KiB of stack for each
// level. This is address space and not memory.
constexpr size_t stack     = size_t(1) << 30;
constexpr int    max_depth = 10000;

common_chat_format format_named(const std::string & name) {
    for (int f = 0; f < COMMON_CHAT_FORMAT_COUNT; f++) {
        if (name == common_chat_format_name(static_cast<common_chat_format>(f))) {
            return static_cast<common_chat_format>(f);
        }
    }
    throw ps::fault(PS_INVALID, "no format of answers is called " + name);
}

void configure(ps_answer * answer, const common_json & format) {
    auto & p            = answer->params;
    p.format            = format_named(format.at("format"));
    p.reasoning_format  = common_reasoning_format_from_name(format.value("reasoning_format", "none"));
    p.generation_prompt = format.value("generation_prompt", "");
    p.is_continuation   = format.value("skip_prefill", false);
    if (const std::string parser = format.value("parser", ""); !parser.empty()) {
        p.parser.load(parser);
        answer->has_ids = parser.find('"' + std::string(common_chat_peg_builder::TOOL_ID) + '"') != std::string::npos;
    }
    if (p.is_continuation) {
        answer->message = common_chat_parse("", true, p);
    }
}

void check_depth(ps_answer * answer, const char * text, size_t size) {
    for (size_t i = 0; i < size; i++) {
        if (text[i] == '[' || text[i] == '{') {
            answer->depth++;
        } else if (answer->depth > 0 && (text[i] == ']' || text[i] == '}')) {
            answer->depth--;
        }
        if (answer->depth > max_depth) {
            throw ps::fault(PS_FAILED, "the answer nests more than " + std::to_string(max_depth) + " deep");
        }
    }
}

common_json json_of(const common_chat_msg_diff & d) {
    auto out         = common_json::object();
    out["reasoning"] = d.reasoning_content_delta;
    out["content"]   = d.content_delta;
    if (d.tool_call_index != std::string::npos) {
        out["call"]      = d.tool_call_index;
        out["id"]        = d.tool_call_delta.id;
        out["name"]      = d.tool_call_delta.name;
        out["arguments"] = d.tool_call_delta.arguments;
    }
    return out;
}

// Parses the text again and returns what the message has gained. A call is told of from its id on,
// if it is to have one and text may follow.
common_json parse(ps_answer * answer, int32_t end) {
    const bool complete = end == PS_ANSWER_COMPLETE;
    auto message = common_chat_parse(answer->text, !complete, answer->params);
    auto gained  = common_json::array();
    if (message.empty()) {
        if (complete && !answer->message.empty()) {  // else what is behind a call that was told would be lost
            throw ps::fault(PS_FAILED, "the end of the answer contradicts its beginning");
        }
        return gained;
    }
    auto &       calls = message.tool_calls;
    const auto & told  = answer->message.tool_calls;
    for (size_t i = 0; i < told.size() && i < calls.size(); i++) {
        calls[i].id = told[i].id;
    }
    if (answer->has_ids && end == PS_ANSWER_GROWS) {
        calls.erase(std::find_if(calls.begin(), calls.end(), [](const auto & call) { return call.id.empty(); }), calls.end());
    }
    for (const auto & d : common_chat_msg_diff::compute_diffs(answer->message, message)) {
        gained.push_back(json_of(d));
    }
    answer->message = std::move(message);
    return gained;
}

// Whether the text breaks the format, whatever follows it.
bool is_broken(ps_answer * answer) {
    if (answer->params.parser.empty()) {
        return false;
    }
    common_peg_parse_context context(answer->params.generation_prompt + answer->text, COMMON_PEG_PARSE_FLAG_LENIENT);
    return answer->params.parser.parse(context).fail();
}

common_json add(ps_answer * answer, int32_t end) {
    if (end == PS_ANSWER_CUT && is_broken(answer)) {
        throw ps::fault(PS_FAILED, "the answer does not match its format");
    }
    if (end != PS_ANSWER_GROWS) {
        return parse(answer, end);
    }
    try {
        return parse(answer, end);
    } catch (const std::bad_alloc &) {
        throw;
    } catch (const std::exception &) {
        return common_json::array();  // what follows may make sense of it
    }
}

}  // namespace

int32_t ps_answer_new(const char * format, size_t size, ps_answer ** out, ps_error * err) noexcept {
    return ps::guarded(err, [&] {
        auto answer = std::make_unique<ps_answer>();
        ps::with_stack(stack, [&] { configure(answer.get(), common_json::parse(std::string(format, size))); });
        *out = answer.release();
    });
}

void ps_answer_free(ps_answer * answer) noexcept { delete answer; }

int32_t ps_answer_add(ps_answer * answer, const char * text, size_t size, int32_t end, ps_text * out, ps_error * err) noexcept {
    return ps::guarded(err, [&] {
        check_depth(answer, text, size);
        answer->text.append(text, size);
        ps::with_stack(stack, [&] {
            const auto gained = add(answer, end).dump_safe();
            ps::return_text(out, gained.data(), gained.size());
        });
    });
}
