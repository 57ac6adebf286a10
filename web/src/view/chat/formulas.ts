// SPDX-License-Identifier: MIT

type Typesetter = typeof import("./katex.ts");

const kept = 300; // formulas that need not be drawn anew with the paragraph that grows around them

let typesetter: Typesetter | undefined;
const drawn = new Map<string, Node>();

/** Draws the formulas below root. */
export function typesetFormulas(root: ParentNode): void {
  const found = root.querySelectorAll<HTMLElement>(".math:not([data-drawn])");
  if (found.length === 0) return;
  if (typesetter !== undefined) found.forEach((formula) => void typeset(formula));
  else
    load()
      .then(() => found.forEach((formula) => void typeset(formula)))
      .catch(() => {}); // LaTeX stays to be read
}

async function load(): Promise<void> {
  typesetter = await import("./katex.ts");
}

function typeset(formula: HTMLElement): void {
  const source = formula.textContent ?? "";
  const kind = formula.dataset.kind ?? "";
  formula.dataset.drawn = "";
  try {
    const node = drawn.get(kind + source) ?? typesetter?.typeset(source, kind === "display");
    if (node === undefined) return;
    if (drawn.size >= kept) drawn.clear();
    drawn.set(kind + source, node);
    formula.replaceChildren(node.cloneNode(true));
  } catch (error) {
    formula.classList.add("failed");
    formula.title = error instanceof Error ? error.message : String(error);
  }
}
