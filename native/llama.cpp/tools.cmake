# SPDX-License-Identifier: MIT
# llama.cpp's own common, and what it does with pictures and sounds: only the tools have them. Most
# of what compiling these takes is reading the same headers, so they are unity files. If an update
# of llama.cpp has one name twice in a unity file, take one of the files out of its group.
foreach(group parsers chat jinja)
  string(TOUPPER ${group} sources)
  set_property(SOURCE ${${sources}} TARGET_DIRECTORY llama-common PROPERTY UNITY_GROUP ${group})
endforeach()
set_target_properties(llama-common PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)

# Neither tests nor measurements send pictures or sounds: this is only linked.
file(GLOB PICTURES ${LLAMA_SOURCE}/tools/mtmd/models/*.cpp)
set_property(SOURCE ${PICTURES} TARGET_DIRECTORY mtmd PROPERTY UNITY_GROUP models)
set_target_properties(mtmd PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
target_compile_options(mtmd PRIVATE -O0 -w)
