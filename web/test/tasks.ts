// SPDX-License-Identifier: MIT

// What the browser's main thread did, from a trace.
import type { Page } from "playwright-core";

export const sum = (list: readonly number[]) => list.reduce((all, one) => all + one, 0);

/**
 * Milliseconds of thread time of each task of the page's main thread while work is done: what
 * other programs take is not in it.
 */
export async function tasksOf(page: Page, work: () => Promise<void>): Promise<number[]> {
  const browser = page.context().browser();
  if (browser === null) throw new Error("the page has no browser");
  const categories = ["-*", "disabled-by-default-devtools.timeline"]; // without "-*" all others come along
  await browser.startTracing(page, { categories });
  await work();
  const trace = JSON.parse((await browser.stopTracing()).toString()) as { traceEvents: TraceEvent[] };
  return mainTasks(trace.traceEvents);
}

interface TraceEvent {
  name: string;
  ph: string;
  pid: number;
  tid: number;
  tdur?: number; // microseconds that the thread ran
  args: { name?: string };
}

/** Milliseconds of thread time of each task of the busiest page's main thread. */
function mainTasks(events: readonly TraceEvent[]): number[] {
  const main = new Set(
    events
      .filter((event) => event.name === "thread_name" && event.args.name === "CrRendererMain")
      .map((event) => `${event.pid} ${event.tid}`),
  );
  const tasks = new Map<string, number[]>();
  for (const { name, pid, tid, tdur } of events) {
    const thread = `${pid} ${tid}`;
    if (name !== "RunTask" || tdur === undefined || !main.has(thread)) continue; // each also runs as ThreadControllerImpl::RunTask
    tasks.set(thread, [...(tasks.get(thread) ?? []), tdur / 1000]);
  }
  return [...tasks.values()].sort((a, b) => sum(b) - sum(a))[0] ?? [];
}
