// SPDX-License-Identifier: MIT

// The colours of tokens in the inspector: by probability, stage or plugin.
import { t } from "../language/language.ts";
import type { TokenItem } from "./tokenitems.ts";
import { decider, meddlers, modelP } from "./tokentrace.ts";
import { actor, percent } from "./tokenwords.ts";

/** What colours tell about tokens. */
export type ColourMode = "probability" | "stage" | "plugin";

/** A colour of the legend. It comes with a sign, for eyes that do not see it. */
export interface Shade {
  name: string; // a class of the style sheet
  sign: string;
  label: string;
  count: number; // tokens of this colour
}

const plain: Shade = { name: "", sign: "", label: "", count: 0 };
const bounds = [
  { least: 0.9, label: t("{p} or more", { p: percent(0.9) }) },
  { least: 0.5, label: t("{from}–{to} %", { from: 50, to: 90 }) },
  { least: 0.2, label: t("{from}–{to} %", { from: 20, to: 50 }) },
  { least: 0.05, label: t("{from}–{to} %", { from: 5, to: 20 }) },
  { least: 0, label: t("below {p}", { p: percent(0.05) }) },
];
const hues = 8; // of the style sheet; the ninth is the first again, with its own sign

/**
 * The colours of tokens in one mode. Names get their colour in the order in which they come, and
 * keep it.
 */
export class Palette {
  private readonly shades = new Map<string, Shade>();
  private readonly known = new WeakMap<TokenItem, Shade>();

  constructor(readonly mode: ColourMode) {
    if (mode !== "probability") return;
    bounds.forEach(({ label }, i) => {
      this.shades.set(label, { name: `p${i}`, sign: "", label, count: 0 });
    });
  }

  shade(item: TokenItem): Shade {
    let shade = this.known.get(item);
    if (shade === undefined) {
      shade = this.find(item);
      shade.count++;
      this.known.set(item, shade);
    }
    return shade;
  }

  /** The colours that occur. */
  get legend(): Shade[] {
    return [...this.shades.values()].filter(({ count }) => count > 0);
  }

  private find(item: TokenItem): Shade {
    const { trace, takenBy } = item;
    if (this.mode === "probability") {
      const p = trace && modelP(trace);
      const bound = p === undefined ? undefined : bounds.find(({ least }) => p >= least);
      return (bound && this.shades.get(bound.label)) ?? { ...plain };
    }
    const name = takenBy ?? (trace && (this.mode === "stage" ? decider(trace) : meddlers(trace)[0]));
    return name === undefined ? { ...plain } : this.named(name);
  }

  private named(name: string): Shade {
    let shade = this.shades.get(name);
    if (shade === undefined) {
      const n = this.shades.size;
      shade = { name: `hue${n % hues}`, sign: String(n + 1), label: actor(name), count: 0 };
      this.shades.set(name, shade);
    }
    return shade;
  }
}
