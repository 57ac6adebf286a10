# SPDX-License-Identifier: MIT
# What llama.cpp 0.5.0 needs to build with the Vulkan tools of Debian 12 and Ubuntu 22.04, which are
# older than those it is written with.
#
# It compiles two shaders with cooperative matrices even if glslc does not know these. Only decoding
# on Intel's Xe2 uses them. With such a glslc they become empty shaders (glslc.sh), and the one
# place that would choose them is switched off in a copy of its source. For a llama.cpp without that
# place none of this is done.

set(VULKAN_SOURCE ${LLAMA_SOURCE}/ggml/src/ggml-vulkan/ggml-vulkan.cpp)
set(XE2_CHOICE "xe_fa_opt = xe_fa_supported_platform &&")
set(XE2_PLACE -1)

if(GGML_VULKAN AND EXISTS ${VULKAN_SOURCE})
  file(READ ${VULKAN_SOURCE} VULKAN_TEXT)
  string(FIND "${VULKAN_TEXT}" "${XE2_CHOICE}" XE2_PLACE)
  if(XE2_PLACE GREATER -1)
    set(Vulkan_GLSLC_EXECUTABLE ${CMAKE_CURRENT_SOURCE_DIR}/glslc.sh CACHE FILEPATH "" FORCE)
  endif()
endif()

# Makes ggml-vulkan compile a copy of its source that never chooses the two shaders.
function(leave_xe2_out)
  string(REPLACE "${XE2_CHOICE}" "xe_fa_opt = false && xe_fa_supported_platform &&" changed "${VULKAN_TEXT}")
  set(copy ${CMAKE_CURRENT_BINARY_DIR}/ggml-vulkan.cpp)
  set(before "")
  if(EXISTS ${copy})
    file(READ ${copy} before)
  endif()
  if(NOT before STREQUAL changed) # else it would be compiled again
    file(WRITE ${copy} "${changed}")
  endif()
  get_target_property(sources ggml-vulkan SOURCES)
  list(TRANSFORM sources REPLACE "^ggml-vulkan\\.cpp$" "${copy}")
  set_target_properties(ggml-vulkan PROPERTIES SOURCES "${sources}")
  target_include_directories(ggml-vulkan PRIVATE ${LLAMA_SOURCE}/ggml/src/ggml-vulkan)
  set(VULKAN_SOURCE ${copy} PARENT_SCOPE)
endfunction()

# Called once llama.cpp has found out what glslc knows.
function(build_with_old_vulkan)
  if(NOT TARGET ggml-vulkan)
    return()
  endif()
  get_target_property(definitions ggml-vulkan COMPILE_DEFINITIONS)
  if(XE2_PLACE GREATER -1 AND NOT "GGML_VULKAN_COOPMAT_GLSLC_SUPPORT" IN_LIST definitions)
    leave_xe2_out()
  endif()
  set_property(SOURCE ${VULKAN_SOURCE} TARGET_DIRECTORY ggml-vulkan
    APPEND PROPERTY COMPILE_OPTIONS -include ${CMAKE_CURRENT_SOURCE_DIR}/layersettings.h)
endfunction()
