// SPDX-License-Identifier: MIT

// The branches of a program's answer, built from the changes that the host sends.
import type { BranchChange, BranchToken } from "../host/protocol.ts";

// No host tells more of one answer.
const mostBranches = 4096;
const mostTokens = 32_768;

/** A branch of a program, as far as the host has told of it. */
export class Branch {
  readonly tokens: BranchToken[] = [];
  dropped = false;
  told: number | undefined; // its score, when it was as long as toldAt tokens
  toldAt = 0;

  /** at is where its own tokens begin, counted in tokens from the beginning of the prompt. */
  constructor(
    readonly id: number,
    readonly parent: Branch | undefined,
    readonly at: number,
  ) {}

  get end(): number {
    return this.at + this.tokens.length;
  }
}

/** Where the answer of a choice is: the tokens of a branch and of its parents up to there. */
export interface Chosen {
  branch: Branch;
  end: number; // counted as Branch.at
}

/**
 * The branches of a program, from what was told of them in order. What is told can be of any
 * shape.
 */
export class BranchTree {
  readonly branches = new Map<number, Branch>(); // a parent comes before those that go on from it
  readonly chosen = new Map<number, Chosen>(); // by choice
  private tokens = 0;
  private read = 0; // changes

  /**
   * Takes those of all changes that were not taken yet; the list has grown, or is another one that
   * begins alike.
   */
  update(changes: readonly BranchChange[]): void {
    for (; this.read < changes.length; this.read++) this.take(changes[this.read] ?? {});
  }

  /** The tokens of all branches, each counted once. */
  get size(): number {
    return this.tokens;
  }

  private take(change: Partial<BranchChange>): void {
    const branch = this.branches.get(Number(change.branch)) ?? this.begin(change);
    if (branch === undefined) return;
    const gained = Array.isArray(change.tokens) ? change.tokens : [];
    for (const token of gained) {
      if (this.tokens >= mostTokens || typeof token?.token !== "string") continue;
      branch.tokens.push(token);
      this.tokens++;
    }
    if (typeof change.score === "number") {
      branch.told = change.score;
      branch.toldAt = branch.end;
    }
    if (change.dropped === true) branch.dropped = true;
    if (Number.isSafeInteger(change.chosen))
      this.chosen.set(Number(change.choice ?? 0), { branch, end: Number(change.chosen) });
  }

  private begin({ branch: id, parent: told, at }: Partial<BranchChange>): Branch | undefined {
    if (!Number.isSafeInteger(id) || this.branches.size >= mostBranches) return undefined;
    const from = Number.isSafeInteger(at) ? Number(at) : 0;
    const branch = new Branch(Number(id), this.owner(this.branches.get(Number(told)), from), from);
    this.branches.set(branch.id, branch);
    return branch;
  }

  /**
   * The branch among one and its parents that has the token before a place; the first of them,
   * where none has.
   */
  private owner(branch: Branch | undefined, at: number): Branch | undefined {
    let found = branch;
    while (found?.parent !== undefined && at <= found.at) found = found.parent;
    return found;
  }
}
