#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# glslc, except that the shaders named in vulkan.cmake become empty ones where glslc does not know
# cooperative matrices.
set -euo pipefail
PATH=${VULKAN_SDK:+$VULKAN_SDK/bin:}$PATH

case "$*" in
  */flash_attn_decode_phase_[12].comp*) ;;
  *) exec glslc "$@" ;;
esac

if said=$(glslc "$@" 2>&1); then
  [ -z "$said" ] || printf '%s\n' "$said" >&2
  exit 0
fi
case "$said" in
  *"extension not supported: GL_KHR_cooperative_matrix"*) ;;
  *) printf '%s\n' "$said" >&2; exit 1 ;;
esac

arguments=()
for argument in "$@"; do
  case "$argument" in
    */flash_attn_decode_phase_[12].comp) arguments+=("$(dirname "$0")/empty.comp") ;;
    *) arguments+=("$argument") ;;
  esac
done
glslc "${arguments[@]}"
