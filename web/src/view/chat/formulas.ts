// SPDX-License-Identifier: MIT

// Draws the formulas of a message with KaTeX, a few at a time.

type Typesetter = typeof import("./katex.ts");

const kept = 300; // formulas that need not be made anew with the paragraph that grows around them
const budget = 8; // milliseconds at a time

let typesetter: Typesetter | undefined;
let loading: Promise<void> | undefined;
let waiting: HTMLElement[] = []; // formulas that are to be drawn
let asked = false;
const made = new Map<string, Node>();

/** Draws the formulas below root: at once those that were made before, the others soon. */
export function typesetFormulas(root: ParentNode): void {
  const end = performance.now() + budget;
  for (const formula of root.querySelectorAll<HTMLElement>(".math:not([data-drawn])")) {
    const node = performance.now() < end ? made.get(keyOf(formula)) : undefined;
    if (node === undefined) waiting.push(formula);
    else show(formula, node);
  }
  if (waiting.length > 0) void work();
}

/** Draws what waits, bit by bit. */
async function work(): Promise<void> {
  if (asked) return;
  asked = true;
  await load();
  requestAnimationFrame(() => {
    asked = false;
    const end = performance.now() + budget;
    waiting = waiting.filter((formula) => formula.isConnected); // what was not drawn again since
    while (waiting.length > 0 && performance.now() < end) make(waiting.shift() as HTMLElement);
    if (waiting.length > 0) void work();
  });
}

async function load(): Promise<void> {
  loading ??= import("./katex.ts").then(
    (loaded) => {
      typesetter = loaded;
    },
    () => {}, // LaTeX stays to be read
  );
  await loading;
}

function make(formula: HTMLElement): void {
  if (typesetter === undefined) return;
  const key = keyOf(formula);
  try {
    const node =
      made.get(key) ?? typesetter.typeset(formula.textContent ?? "", formula.dataset.kind === "display");
    if (made.size >= kept) made.clear();
    made.set(key, node);
    show(formula, node);
  } catch (error) {
    formula.dataset.drawn = "";
    formula.classList.add("failed");
    formula.title = error instanceof Error ? error.message : String(error);
  }
}

function show(formula: HTMLElement, node: Node): void {
  formula.dataset.drawn = "";
  formula.replaceChildren(node.cloneNode(true));
}

function keyOf({ dataset, textContent }: HTMLElement): string {
  return `${dataset.kind} ${textContent}`;
}
