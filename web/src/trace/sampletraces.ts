// SPDX-License-Identifier: MIT

// Traces for tests, written as a person would tell them.
import type { StageTrace, Survey, TokenRank, TokenTrace } from "../host/protocol.ts";

/**
 * What is left: the tokens with their probabilities, most likely first. Its id is a token's place
 * in the alphabet.
 */
export function left(n: number, best: Record<string, number>, chosen?: [rank: number, p: number]): Survey {
  const list = Object.entries(best).map(([token, p]) => ({ id: idOf(token), token, logit: Math.log(p), p }));
  const place: TokenRank | undefined = chosen && {
    rank: chosen[0],
    logit: Math.log(chosen[1]),
    p: chosen[1],
  };
  return place === undefined ? { n, best: list } : { n, best: list, chosen: place };
}

export function stage(name: string, ms: number, after: Survey): StageTrace {
  return { name, ms, after };
}

export function idOf(token: string): number {
  return [...token].reduce((sum, sign) => (sum * 31 + (sign.codePointAt(0) ?? 0)) % 100_003, 7);
}

/** A token that the last of the stages chose. */
export function chosen(token: string, before: Survey, ...stages: StageTrace[]): TokenTrace {
  return { id: idOf(token), token, how: "chosen", by: stages.at(-1)?.name ?? "", before, stages };
}

/**
 * " cat" is drawn although " dog" was likelier, in a chain of which top_k and dist do something.
 */
export function drawnCat(): TokenTrace {
  const model = left(1000, { " dog": 0.42, " cat": 0.31, " owl": 0.1, " a": 0.05 }, [2, 0.31]);
  const cut = left(3, { " dog": 0.5, " cat": 0.37, " owl": 0.13 }, [2, 0.37]);
  return chosen(
    " cat",
    model,
    stage("logit_bias", 0.01, model),
    stage("top_k", 0.06, cut),
    stage("dist", 0.03, left(1, { " cat": 1 }, [1, 1])),
  );
}

/** banned-phrases took " frog" back and banned it; " toad" came instead. */
export function insteadOfFrog(): TokenTrace {
  const best = { " frog": 0.6, " toad": 0.3, " newt": 0.1 };
  const frog = chosen(
    " frog",
    left(1000, best, [1, 0.6]),
    stage("greedy", 0.02, left(1, { " frog": 1 }, [1, 1])),
  );
  const trace = chosen(
    " toad",
    left(1000, best, [2, 0.3]),
    stage("prepare", 0.2, left(999, { " toad": 0.75, " newt": 0.25 }, [1, 0.75])),
    stage("greedy", 0.02, left(1, { " toad": 1 }, [1, 1])),
  );
  const by = "plugin:banned-phrases";
  trace.prepared = [{ name: by, ms: 0.15, banned: 1 }];
  trace.accepted = [{ name: by, ms: 0.05 }];
  trace.taken_back = [{ by, text: " frog", tokens: [{ id: frog.id, token: " frog", trace: frog }] }];
  return trace;
}
