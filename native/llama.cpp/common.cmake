# SPDX-License-Identifier: MIT
# penstock_common: what the shim needs of llama.cpp's `common`, which is chat templates, answers'
# parsers, Jinja and JSON. All of it with cpp-httplib, the command line's options, downloads and
# speculation would be two fifths of a first build. The tools have llama.cpp's own llama-common,
# which is compiled with them.
#
# After an update of llama.cpp: "Cannot find source file" names one that is gone, and belongs to no
# list here any more. "undefined reference to NAME" where penstock_probe is linked: find the file of
# common/ that has NAME and add it, or, where it is for command line tools and common.cpp has it in
# a function that nobody here calls, put it into uncalled.cpp. A name that is there twice in one
# unity file: take one of the files out of its group.
set(COMMON ${LLAMA_SOURCE}/common)
include(${COMMON}/parsers/sources.cmake) # LLAMA_CHAT_PARSERS_SOURCES

set(CHAT chat-auto-parser-generator chat-auto-parser-helpers chat-diff-analyzer chat-peg-parser log trie unicode)
set(JINJA jinja/lexer jinja/parser jinja/value jinja/string jinja/caps) # value specialises what caps uses, so it comes first
list(TRANSFORM CHAT REPLACE "(.+)" "${COMMON}/\\1.cpp")
list(TRANSFORM JINJA REPLACE "(.+)" "${COMMON}/\\1.cpp")

add_library(penstock_common STATIC ${LLAMA_CHAT_PARSERS_SOURCES} ${CHAT} ${JINJA}
  ${COMMON}/chat.cpp ${COMMON}/common.cpp ${COMMON}/jinja/runtime.cpp ${COMMON}/json.cpp ${COMMON}/peg-parser.cpp parse.cpp schema.cpp uncalled.cpp)
target_include_directories(penstock_common PUBLIC ${COMMON} ${LLAMA_SOURCE}/vendor)
target_link_libraries(penstock_common PUBLIC llama)
# No token is computed here. -O1 compiles in two thirds of the time; -w, since these are llama.cpp's
# sources.
target_compile_options(penstock_common PRIVATE -O1 -w)

# Most of what compiling one of these takes is reading the same headers.
set_target_properties(penstock_common PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
set_property(SOURCE ${LLAMA_CHAT_PARSERS_SOURCES} PROPERTY UNITY_GROUP parsers)
set_property(SOURCE ${CHAT} PROPERTY UNITY_GROUP chat)
set_property(SOURCE ${JINJA} PROPERTY UNITY_GROUP jinja)

# What is ours in them.
set_property(SOURCE ${COMMON}/chat.cpp APPEND PROPERTY COMPILE_OPTIONS -include ${CMAKE_CURRENT_SOURCE_DIR}/analysis.h)
set_property(SOURCE ${COMMON}/jinja/runtime.cpp APPEND PROPERTY COMPILE_OPTIONS -include ${CMAKE_CURRENT_SOURCE_DIR}/waiting.h)
set_property(SOURCE ${COMMON}/json.cpp APPEND PROPERTY COMPILE_DEFINITIONS parse=parse_unchecked)
set_property(SOURCE ${COMMON}/peg-parser.cpp APPEND PROPERTY COMPILE_DEFINITIONS load=load_unmarked)
