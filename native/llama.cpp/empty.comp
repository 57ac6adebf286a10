// SPDX-License-Identifier: MIT
// What glslc.sh compiles in place of a shader that glslc does not understand.
#version 450
void main() {}
