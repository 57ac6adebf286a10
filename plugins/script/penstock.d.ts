// SPDX-License-Identifier: MIT
// What a script of Penstock sees, for editors and type checkers. Put the file beside the script,
// and write `/** @param {Candidates} c */` above a function for its completions.
//
// A script is one JavaScript module of at most 64 KiB. It exports functions that the host calls,
// which are called hooks here, and may export `plugin`, which says what they need. Its variables
// are its state: each answer has its own, from where the script's code outside of functions left
// them.
//
// Hooks are plain functions: nothing has to be awaited, and one that returns a Promise or is a
// generator is an error. Math.random() is drawn from the request's seed and Date.now() is the
// request's time, so an answer can be computed again. The only other clock is penstock.elapsed, and
// there is no network and no file. A hook has some ten thousand steps of JavaScript; methods of the
// host, such as c.filter, c.softmax and penstock.mask, do more in the same time.

/** A token of the model's vocabulary: a whole number from 0 to `penstock.vocabSize - 1`. */
type Token = number;

/** One token, a list of them, or a text, which is then tokenized. */
type Tokens = Token | ArrayLike<Token> | string;

/**
 * A bit for each token, as `penstock.mask` makes it. Made once outside of hooks, it costs nothing
 * later.
 */
type Mask = Uint32Array;

/** What `export const plugin` may say. All of it is optional. */
interface PluginOptions {
  /**
   * How many of the likeliest tokens `sample` sees, 1 to 4096; 40 if left out. The others are
   * dropped.
   */
  candidates?: number;
  /**
   * "candidates"; "logits" for all tokens, which costs more; "none" for a `sample` that only
   * chooses a token.
   */
  view?: "candidates" | "logits" | "none";
  /** How many tokens `accept` may take back, 0 to 256. The client sees the answer so much later. */
  hold?: number;
  /** How many tokens may be computed beyond the usual limit, for a script that takes many back. */
  takeBack?: number;
  /** Before the request's samplers, as is usual, or after them, when often one is left. */
  place?: "first" | "last";
  /** How many branches `run` has at once, 1 to 64; 1 if left out. */
  branches?: number;
  /** One sentence for lists of plugins. */
  summary?: string;
  /** A JSON schema of `penstock.config`. */
  config?: object | boolean;
  /** What the host computes for the script. If left out, it is what the source mentions. */
  needs?: ("logprob" | "hidden_state" | "note")[];
}

/**
 * What `sample(c)` gets: the candidates, the likeliest first, or all tokens with the view
 * "logits".
 */
interface Candidates {
  readonly length: number;
  /** Their tokens; undefined with the view "logits", where the index is the token. */
  readonly ids: Uint32Array;
  /** Their logits, to be read and changed: -Infinity drops one. */
  readonly logits: Float32Array;
  /** The text of candidate i. */
  text(i: number): string;
  /** Drops candidate i. */
  ban(i: number): void;
  /** Drops all but the first n. */
  keep(n: number): void;
  /**
   * Drops those that the function, RegExp or mask refuses; if that is all of them, none. Returns
   * how many it accepts.
   */
  filter(accepts: ((text: string, i: number, token: Token) => unknown) | RegExp | Mask): number;
  /** The probabilities. The array is the same at each call. */
  softmax(): Float32Array;
  /** The entropy of the probabilities, in nats. */
  entropy(): number;
  /** Divides the logits by t; 0 leaves only the likeliest. */
  temperature(t: number): void;
  /** A token at random, by the probabilities or by weights of your own. Return it to choose it. */
  draw(weights?: ArrayLike<number>): Token;
  /**
   * Adds x to the logit of any token, seen or not, and drops none. It goes with no other change of
   * the candidates.
   */
  bias(token: Token, x: number): void;
}

/** What `prepare(p)` gets: it says what the next token may be, before the model has computed it. */
interface Next {
  /** Only these tokens, at least one. */
  mask(m: Mask | ArrayLike<Token>): void;
  /** These tokens, and others that are allowed in the same call. */
  allow(tokens: Tokens): void;
  /** Not these tokens. */
  ban(tokens: Tokens): void;
  /** Adds x to the logit of a token; at most 256 of them. */
  bias(token: Token, x: number): void;
  /** The answer goes on with these tokens, at most 256; the model's choice is not asked for. */
  force(tokens: Tokens): void;
}

/** What `penstock.splice` makes for `accept` to return. */
interface Splice {
  back: number;
  tokens?: Tokens;
}

/** A message of a conversation. With pictures or sounds its content is a list of parts. */
interface Message {
  role: string;
  content: string | object[];
  [other: string]: unknown;
}

/** What `run(r)` gets: a script with `run` is a program, which writes the whole answer. */
interface Program {
  readonly promptTokens: number;
  /** How many tokens the answer may have. */
  readonly maxTokens: number;
  /** How many answers the request asks for. */
  readonly choices: number;
  /** A branch with the request's prompt. */
  prompt(): Branch;
  /** A branch with these tokens. */
  open(tokens: Tokens): Branch;
  /** A branch with a conversation, or with what a user says, by the model's template. */
  chat(messages: Message[] | string): Branch;
  /** A sampler chain: the request's parameters, changed by these, such as {temperature: 1}. */
  chain(parameters: object): number;
  /**
   * Waits until the model has computed the branches, or with `any` one of them; k: how many
   * candidates `best` will be asked for. Returns those that are computed.
   */
  wait(branches: Branch | Branch[], k?: number, options?: { any?: boolean }): Branch[];
  /** The host draws up to n tokens for each branch, at the same time, and waits for all. */
  continue(
    branches: Branch | Branch[],
    n: number,
    options?: { chain?: number; scored?: boolean },
  ): Branch[];
  /** Shows the client tokens or a text; false if the choice has ended. */
  show(tokens: Tokens, choice?: number): boolean;
  /**
   * After run has returned, the answer goes on from the branch, whose first `from` tokens are the
   * prompt.
   */
  adopt(branch: Branch, from?: number, choice?: number): void;
}

/** A list of tokens that the model can continue. */
interface Branch {
  readonly length: number;
  readonly state: "pending" | "ready" | "running" | "ran" | "ended" | "stuck";
  /** A copy, for which nothing is computed twice. */
  fork(): Branch;
  close(): void;
  /** Keeps the first n tokens. */
  cut(n: number): void;
  append(tokens: Tokens, options?: { scored?: boolean }): void;
  /** Its tokens, the prompt first, from an index on. */
  tokens(from?: number): Token[];
  text(from?: number): string;
  /** The k likeliest next tokens; the branch was waited for. */
  best(k: number): { id: Token; text: string; logprob: number }[];
  /** The entropy of the model's prediction, in nats. */
  entropy(): number;
  /** The log-probabilities of its tokens, NaN for those that were not appended with `scored`. */
  scores(from?: number): Float32Array;
  /** The logits of all tokens. */
  logits(): Float32Array;
  /** Makes tokens impossible in the model's prediction. */
  mask(m: Mask): void;
  /** Replaces the prediction by a weighted sum of those of branches. */
  mix(pairs: [Branch, number][]): void;
  /** Draws a token, which is not appended. */
  sample(options?: { chain?: number }): Token;
  /** From the next wait on the host draws n tokens for it. */
  start(n: number, options?: { chain?: number; scored?: boolean }): void;
}

/** What the host answers to a script. */
interface Penstock {
  /** What the request's `config` has beside the source. */
  readonly config: any;
  readonly vocabSize: number;
  readonly bos: Token | null;
  readonly eos: Token | null;
  readonly eot: Token | null;
  readonly newline: Token | null;
  /**
   * The text of a token. Of one that is a part of a character, each byte is U+FFFD; see `bytes`.
   */
  piece(token: Token): string;
  bytes(token: Token): Uint8Array;
  /** Whether the token ends an answer. */
  isEnd(token: Token): boolean;
  isControl(token: Token): boolean;
  /** The tokens of a text; with `special` the texts of control tokens count as these. */
  tokenize(text: string, options?: { special?: boolean }): Token[];
  /** The text of tokens. What a history has for a picture or a sound, 0xffffffff, has none. */
  detokenize(tokens: Tokens): string;
  /**
   * The tokens whose text a RegExp matches (and those that end the answer, but no other control
   * tokens), for which a function returns true, or that a list has.
   */
  mask(of: RegExp | ((text: string, token: Token) => unknown) | ArrayLike<Token>): Mask;
  /**
   * For `accept`: takes the last tokens back, the accepted one included, and goes on with others.
   */
  splice(back: number, tokens?: Tokens): Splice;
  /** The answer so far, from a byte on; a negative one counts from the end. */
  text(from?: number): string;
  /**
   * All tokens so far, the prompt's first, from an index on; a negative one counts from the end.
   * Those of pictures and sounds are 0xffffffff.
   */
  history(from?: number): Token[];
  readonly historyLength: number;
  readonly part: "content" | "reasoning" | "tool_call" | "unknown";
  /** In `accept`: the log-probability that the model gave the token. */
  readonly logprob: number;
  /** In `sample`, `accept` and `stop`: the model's hidden state. */
  hiddenState(): Float32Array;
  /**
   * What is left of the running call, in units of fuel; a step of JavaScript takes about a
   * thousand.
   */
  readonly fuel: number;
  /**
   * How many milliseconds ago the request came, when the running call of a hook began, or in `run`
   * the last wait ended; -1 outside of hooks. A script that uses it gives up that the same request
   * with the same seed gets the same answer; a recording has the times.
   */
  readonly elapsed: number;
  param(
    name: "promptTokens" | "maxTokens" | "contextSize" | "seed" | "time" | "choice" | "choices",
  ): number;
  /** The model and the request's sampling parameters. */
  request(): { model: Record<string, any>; sampling: Record<string, any> };
  /**
   * For a script that exports `messages` and `filter`: the conversation as `messages` got it, so
   * that `filter` can put back what `messages` has replaced. Empty if the request has a prompt.
   */
  messages(): Message[];
  /** In `messages` and `template`: the prompt that the model's own template makes of messages. */
  prompt(messages?: Message[]): string;
  /** Gives the client a value beside the answer; false if it is refused. */
  output(value: unknown): boolean;
  /**
   * Writes a note to the token, which clients that ask for a trace and the page's inspector show.
   */
  note(value: unknown): boolean;
}

declare const penstock: Penstock;
declare const config: any;
declare function log(...values: unknown[]): void;
declare function output(value: unknown): boolean;
declare function note(value: unknown): boolean;
interface Console extends Record<
  "debug" | "log" | "info" | "warn" | "error",
  (...values: unknown[]) => void
> {}
declare var console: Console; // as browsers have it, should an editor know theirs

/** The functions that a script may export. */
interface Hooks {
  /** When the model has computed the next token: changes the candidates, or returns a token. */
  sample(c: Candidates): Token | void;
  /** Before that: says which tokens are possible. */
  prepare(p: Next): void;
  /** After a token was chosen: "stop" or true ends the answer, a splice takes tokens back. */
  accept(token: Token): "stop" | boolean | Splice | void;
  /**
   * With new text: ends the answer with it ("end", true), without it ("hide"), holds it back
   * ("hold"), or ends with a part of it.
   */
  stop(
    text: string,
    token: Token,
  ): "show" | "end" | "hide" | "hold" | boolean | { end: string } | void;
  /**
   * With text that is about to be shown, and once when the answer has ended, with `last`: a text
   * that it returns is shown in the place of it. It gets what it held back, followed by new text.
   * With `hold` it holds the end of the text back, at most 4 KiB, and shows the beginning, or
   * `show`. It changes no tokens, so `penstock.text` and logprobs have the model's own text.
   */
  filter(text: string, last: boolean): string | { show?: string; hold?: string } | void;
  /** Guesses the next tokens, at most n, for the model to check at once. */
  draft(n: number): Tokens | void;
  /** Before the prompt is made: returns other messages, or changes those it gets. */
  messages(list: Message[]): Message[] | void;
  /** Makes the prompt's text in place of the model's template. */
  template(list: Message[]): string;
  /** Writes the answer; alone, without the hooks above but messages. */
  run(r: Program): void;
}
