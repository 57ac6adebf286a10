// SPDX-License-Identifier: MIT

// Makes small plugins: modules that no compiler is needed for.

const i32 = 0x7f;
const end = 0x0b;
// In the module's memory.
const valueAt = 16;
const manifestAt = 64;

/** What the plugin that tells something tells. */
export const told = '{"seen":["a token"]}';

/** A function of a module: its type and its code, without the closing end. */
interface Export {
  params: number[];
  results: number[];
  code: number[];
}

/** Hooks that a plugin here may have. */
export const hooks = {
  /** Traps as soon as a token was chosen. */
  trapping: { name: "penstock_accept", params: [i32], results: [i32], code: [0x00] }, // unreachable
  /** Tells the client a value with each token. */
  telling: {
    name: "penstock_accept",
    params: [i32],
    results: [i32],
    code: [0x41, valueAt, 0x41, told.length, 0x10, 1, 0x1a, 0x41, 0], // output(valueAt, length); i32.const 0
  },
  /** Looks at candidates, or at all logits, and changes nothing. */
  looking: { name: "penstock_sample", params: [i32], results: [i32], code: [0x41, 0] }, // i32.const 0
  /** Ends the answer after the first token. */
  ending: { name: "penstock_accept", params: [i32], results: [i32], code: [0x41, 1] }, // i32.const 1
} as const;

/** A plugin with a manifest and perhaps a hook. The same arguments give the same bytes. */
export function pluginModule(
  manifest: { name: string; version?: string; summary?: string; view?: string; config_schema?: object },
  hook?: (typeof hooks)[keyof typeof hooks],
): Buffer {
  const text = new TextEncoder().encode(JSON.stringify(manifest));
  const describe: Export = {
    params: [],
    results: [],
    code: [0x41, ...signed(manifestAt), 0x41, ...signed(text.length), 0x10, 0], // emit(manifestAt, length)
  };
  const named: [string, Export][] = [
    ["penstock_abi_v1", { params: [], results: [], code: [] }],
    ["penstock_describe", describe],
  ];
  if (hook !== undefined)
    named.push([hook.name, { params: [...hook.params], results: [...hook.results], code: [...hook.code] }]);
  const functions = named.map(([, it]) => it);
  const types = [
    [0x60, 2, i32, i32, 0],
    [0x60, 2, i32, i32, 1, i32],
    ...functions.map((it) => [0x60, ...list(it.params), ...list(it.results)]),
  ];
  return Buffer.from([
    ...[0x00, 0x61, 0x73, 0x6d, 1, 0, 0, 0],
    ...section(1, vector(types)),
    ...section(
      2,
      vector([
        [...name("penstock"), ...name("emit"), 0x00, 0],
        [...name("penstock-optional"), ...name("output"), 0x00, 1],
      ]),
    ),
    ...section(3, vector(functions.map((_, at) => [at + 2]))),
    ...section(5, vector([[0x00, 1]])), // a page of memory
    ...section(
      7,
      vector([[...name("memory"), 0x02, 0], ...named.map(([n], at) => [...name(n), 0x00, at + 2])]),
    ),
    ...section(10, vector(functions.map((it) => list([0, ...it.code, end])))),
    ...section(
      11,
      vector([
        [0x00, 0x41, ...signed(manifestAt), end, ...list([...text])],
        [0x00, 0x41, ...signed(valueAt), end, ...list([...new TextEncoder().encode(told)])],
      ]),
    ),
  ]);
}

function section(id: number, content: number[]): number[] {
  return [id, ...list(content)];
}

/** Bytes with their number before them. */
function list(bytes: readonly number[]): number[] {
  return [...unsigned(bytes.length), ...bytes];
}

function vector(items: number[][]): number[] {
  return [...unsigned(items.length), ...items.flat()];
}

function name(text: string): number[] {
  return list([...new TextEncoder().encode(text)]);
}

/** A number in WebAssembly's variable length. */
function unsigned(value: number): number[] {
  return value < 0x80 ? [value] : [(value & 0x7f) | 0x80, ...unsigned(value >>> 7)];
}

function signed(value: number): number[] {
  return value < 0x40 ? [value] : [(value & 0x7f) | 0x80, ...signed(value >>> 7)];
}
