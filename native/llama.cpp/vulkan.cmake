# SPDX-License-Identifier: MIT
# llama.cpp 0.5.0 compiles two shaders with cooperative matrices although glslc may not know them, as that of Debian 12 and Ubuntu 22.04
# does not, and then it does not build. They are for decoding on Intel's Xe2 alone. So there they become empty shaders (glslc.sh), and the
# one place that would use them is switched off in a copy of its source. Where a llama.cpp has no such place nothing is done.

set(VULKAN_SOURCE ${LLAMA_SOURCE}/ggml/src/ggml-vulkan/ggml-vulkan.cpp)
set(XE2_CHOICE "xe_fa_opt = xe_fa_supported_platform &&")

if(GGML_VULKAN AND EXISTS ${VULKAN_SOURCE})
  file(READ ${VULKAN_SOURCE} VULKAN_TEXT)
  string(FIND "${VULKAN_TEXT}" "${XE2_CHOICE}" XE2_PLACE)
  if(NOT XE2_PLACE EQUAL -1)
    set(Vulkan_GLSLC_EXECUTABLE ${CMAKE_CURRENT_SOURCE_DIR}/glslc.sh CACHE FILEPATH "" FORCE)
  endif()
endif()

# Called when llama.cpp has found out what glslc knows.
function(build_vulkan_without_matrices)
  if(NOT TARGET ggml-vulkan OR NOT XE2_PLACE GREATER -1)
    return()
  endif()
  get_target_property(definitions ggml-vulkan COMPILE_DEFINITIONS)
  if("GGML_VULKAN_COOPMAT_GLSLC_SUPPORT" IN_LIST definitions)
    return()
  endif()
  string(REPLACE "${XE2_CHOICE}" "xe_fa_opt = false && xe_fa_supported_platform &&" changed "${VULKAN_TEXT}")
  set(copy ${CMAKE_CURRENT_BINARY_DIR}/ggml-vulkan.cpp)
  set(before "")
  if(EXISTS ${copy})
    file(READ ${copy} before)
  endif()
  if(NOT before STREQUAL changed)
    file(WRITE ${copy} "${changed}")
  endif()
  get_target_property(sources ggml-vulkan SOURCES)
  list(TRANSFORM sources REPLACE "^ggml-vulkan\\.cpp$" "${copy}")
  set_target_properties(ggml-vulkan PROPERTIES SOURCES "${sources}")
  target_include_directories(ggml-vulkan PRIVATE ${LLAMA_SOURCE}/ggml/src/ggml-vulkan)
endfunction()
