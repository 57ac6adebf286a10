// SPDX-License-Identifier: MIT

// SHA-256, for pages that have no crypto.subtle.

const { round, start } = constants();

/**
 * SHA-256 in hexadecimal. The browser's own exists only on https and localhost, and a page
 * elsewhere has pictures, too.
 */
export function sha256(data: Uint8Array): string {
  const state = Uint32Array.from(start);
  const schedule = new Uint32Array(64);
  const whole = data.length & ~63;
  const view = new DataView(data.buffer, data.byteOffset, data.byteLength);
  for (let at = 0; at < whole; at += 64) block(state, schedule, view, at);
  const rest = data.length - whole;
  const tail = new Uint8Array(rest < 56 ? 64 : 128);
  tail.set(data.subarray(whole));
  tail[rest] = 0x80;
  const end = new DataView(tail.buffer);
  end.setUint32(tail.length - 8, Math.floor(data.length / 2 ** 29));
  end.setUint32(tail.length - 4, data.length << 3);
  for (let at = 0; at < tail.length; at += 64) block(state, schedule, end, at);
  return Array.from(state, (word) => word.toString(16).padStart(8, "0")).join("");
}

function block(state: Uint32Array, w: Uint32Array, data: DataView, at: number): void {
  for (let i = 0; i < 16; i++) w[i] = data.getUint32(at + 4 * i);
  for (let i = 16; i < 64; i++) {
    const [x, y] = [w[i - 15] ?? 0, w[i - 2] ?? 0];
    const s0 = turned(x, 7) ^ turned(x, 18) ^ (x >>> 3);
    const s1 = turned(y, 17) ^ turned(y, 19) ^ (y >>> 10);
    w[i] = (w[i - 16] ?? 0) + s0 + (w[i - 7] ?? 0) + s1;
  }
  let [a = 0, b = 0, c = 0, d = 0, e = 0, f = 0, g = 0, h = 0] = state;
  for (let i = 0; i < 64; i++) {
    const s1 = turned(e, 6) ^ turned(e, 11) ^ turned(e, 25);
    const t1 = (h + s1 + ((e & f) ^ (~e & g)) + (round[i] ?? 0) + (w[i] ?? 0)) | 0;
    const s0 = turned(a, 2) ^ turned(a, 13) ^ turned(a, 22);
    const t2 = (s0 + ((a & b) ^ (a & c) ^ (b & c))) | 0;
    h = g;
    g = f;
    f = e;
    e = (d + t1) | 0;
    d = c;
    c = b;
    b = a;
    a = (t1 + t2) | 0;
  }
  for (const [i, word] of [a, b, c, d, e, f, g, h].entries()) state[i] = (state[i] ?? 0) + word;
}

const turned = (word: number, bits: number) => (word >>> bits) | (word << (32 - bits));

/**
 * The first 32 bits of the fractions of the cube roots of the first 64 primes, and of the square
 * roots of the first 8.
 */
function constants(): { round: Uint32Array; start: Uint32Array } {
  const primes: bigint[] = [];
  for (let n = 2n; primes.length < 64; n++) if (primes.every((prime) => n % prime !== 0n)) primes.push(n);
  const fraction = (prime: bigint, power: bigint) =>
    Number(root(prime << (32n * power), power) & 0xffffffffn);
  return {
    round: Uint32Array.from(primes, (prime) => fraction(prime, 3n)),
    start: Uint32Array.from(primes.slice(0, 8), (prime) => fraction(prime, 2n)),
  };
}

/** The whole part of a root. */
function root(of: bigint, power: bigint): bigint {
  let [low, high] = [0n, 1n << 40n];
  while (high - low > 1n) {
    const middle = (low + high) / 2n;
    if (middle ** power <= of) low = middle;
    else high = middle;
  }
  return low;
}
