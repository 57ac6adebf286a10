# SPDX-License-Identifier: MIT
# penstock_media: libmtmd, which turns pictures and sounds into embeddings, without its helpers:
# their decoders of files (stb, miniaudio) would be C code that reads what a client sends. The tools
# have llama.cpp's own mtmd, which is compiled with them.
#
# After an update of llama.cpp: a name that is there twice in one unity file means that one of the
# files must leave its group.
get_target_property(folder mtmd SOURCE_DIR)
get_target_property(names mtmd SOURCES)
list(FILTER names EXCLUDE REGEX "^mtmd-helper|\\.h$")
set(graphs ${names})
list(FILTER graphs INCLUDE REGEX "^models/")
list(TRANSFORM names PREPEND ${folder}/)
list(TRANSFORM graphs PREPEND ${folder}/)

add_library(penstock_media STATIC ${names})
target_include_directories(penstock_media PUBLIC ${folder})
target_link_libraries(penstock_media PUBLIC llama ggml)
# -w, since these are llama.cpp's sources. -O1, since most of them build graphs and compute nothing.
# Without contraction, so that a picture's numbers are the same on every CPU.
target_compile_options(penstock_media PRIVATE -O1 -w -ffp-contract=off)
set_property(SOURCE ${folder}/mtmd-image.cpp ${folder}/mtmd-audio.cpp APPEND PROPERTY COMPILE_OPTIONS -O3)

# Most of what compiling one of these takes is reading the same headers.
set_target_properties(penstock_media PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
set_property(SOURCE ${graphs} PROPERTY UNITY_GROUP graphs)
