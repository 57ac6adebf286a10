// SPDX-License-Identifier: MIT

// The frame "live" of the WebSocket, as docs/websocket.md describes it. All times are milliseconds.

export interface LiveFrame {
  type: "live";
  id?: undefined; // it belongs to no answer
  time_ms: number; // the host's clock, since 1970
  models: LiveModel[];
}

export interface LiveModel {
  name: string;
  state: "loaded" | "loading";
  waiting_for_load: number;
  slots: LiveSlot[];
  queue: LiveQueue;
  cells: { total: number; used: number; cached: number };
  ticks: LiveTicks;
  itl: { up_to_ms: number[]; counts: number[]; sum_ms: number };
  plugins: LivePlugin[];
}

export interface LiveSlot {
  slot: number;
  state: string;
  waits_for?: string;
  id?: string; // this page's name of the answer; absent: it is another client's
  request?: number;
  prompt_tokens?: number;
  prompt_done?: number;
  cached_tokens?: number;
  generated_tokens?: number;
  max_tokens?: number;
  tokens_per_second?: number; // since the first token
  age_ms?: number;
  priority?: number;
  plugins?: string[];
}

export interface LiveQueue {
  waiting: number;
  for: Record<string, number>;
  own: LiveQueued[];
}

export interface LiveQueued {
  id: string;
  place: number; // the first has 1
  waits_for: string;
  prompt_tokens: number;
  generated_tokens?: number;
  age_ms: number;
}

/** Ticks by column, oldest first. */
export interface LiveTicks {
  first: number; // number of the first one
  left_out: number; // before the first
  at_ms: number[];
  decode: number[];
  prefill: number[];
  passes: number[];
  forward_ms: number[];
  sample_ms: number[];
  plugin_ms: number[];
  total_ms: number[];
}

export interface LivePlugin {
  name: string;
  state: string;
  calls: number;
  time_ms: number;
  faults: number;
}
