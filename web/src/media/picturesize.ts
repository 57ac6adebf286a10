// SPDX-License-Identifier: MIT

// How large a picture is when it is sent.

/**
 * Pixels that a picture has at most when it is sent. The towers that llama.cpp knows use 4096
 * pieces of 28 by 28 pixels at most, which is about as much; most use far fewer.
 */
export const mostPixels = 3_200_000;

/** Bytes of a picture that is sent as it is, though it has few enough pixels for that. */
export const mostKept = 2 << 20;

/** Bytes of a scaled picture that is sent without loss. */
export const mostLossless = 1 << 20;

/** The size of a picture of these pixels when it is sent. */
export function fittedSize(
  width: number,
  height: number,
  most = mostPixels,
): { width: number; height: number } {
  const scale = Math.min(1, Math.sqrt(most / (width * height)));
  return {
    width: Math.max(1, Math.floor(width * scale)),
    height: Math.max(1, Math.floor(height * scale)),
  };
}
