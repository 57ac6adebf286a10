// SPDX-License-Identifier: MIT
import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { signal } from "@preact/signals";
import { type Message, unkept } from "../chats/message.ts";
import type { GenerateRequest } from "../host/protocol.ts";
import { Refused } from "../host/rest.ts";
import type { Checked } from "../host/scriptroutes.ts";
import type { Piece } from "../trace/tokenitems.ts";
import { errorOfRun, Rehearsal } from "./rehearsal.ts";

const request: GenerateRequest = { messages: [] };
const sound: Checked = { implements: ["sample"] };

class FakeRun {
  readonly message = signal<Message>(unkept("assistant", ""));
  readonly pieces: Piece[] = [];
  stopped = false;

  constructor(readonly request: GenerateRequest) {}

  end(text: string): void {
    this.pieces.push({ text });
    const answer = { phase: "done", model: "", seq: 1, tokens: 1, asked: 0 } as const;
    this.message.value = { ...this.message.peek(), answer: { ...answer, outcome: { reason: "stop" } } };
  }
}

/** A rehearsal whose checks the test answers; time is the test's. */
function rehearse(t: TestContext, check: (source: string) => Checked = () => sound) {
  const clock = fakeClock(t);
  const checks: { source: string; signal: AbortSignal }[] = [];
  const runs: FakeRun[] = [];
  const rehearsal = new Rehearsal<FakeRun>({
    async check({ source }, signal) {
      checks.push({ source, signal });
      return check(source);
    },
    start(request) {
      const run = new FakeRun(request);
      runs.push(run);
      return run;
    },
    stop(run) {
      run.stopped = true;
    },
  });
  const type = (source: string, config = "") =>
    rehearsal.change({ source, config, request: { ...request, plugins: [source] } });
  const pause = async (ms: number) => {
    clock.pass(ms);
    await new Promise(setImmediate);
  };
  return { rehearsal, checks, runs, type, pause, clock };
}

/** Time that passes when the test says so. */
function fakeClock(t: TestContext) {
  let now = 0;
  let timers: { due: number; work(): void }[] = [];
  t.mock.method(globalThis, "setTimeout", (work: () => void, ms: number) => {
    const timer = { due: now + ms, work };
    timers.push(timer);
    return timer;
  });
  t.mock.method(globalThis, "clearTimeout", (timer: unknown) => {
    timers = timers.filter((one) => one !== timer);
  });
  return {
    pass(ms: number) {
      now += ms;
      const due = timers.filter((timer) => timer.due <= now);
      timers = timers.filter((timer) => timer.due > now);
      for (const timer of due) timer.work();
    },
  };
}

test("Rehearsal.change: the newest attempt runs after a pause, in place of the run before", async (t) => {
  const { rehearsal, checks, runs, type, pause } = rehearse(t);
  type("");
  await pause(0);
  assert.equal(checks.length, 0, "without a script there is nothing to check");
  assert.equal(runs.length, 1, "the first one waits for nobody");
  runs[0]?.end("plain");
  type("a");
  await pause(399);
  type("ab");
  await pause(399);
  assert.equal(runs.length, 1);
  assert.equal(rehearsal.pending.value, true);
  await pause(1);
  assert.deepEqual(
    checks.map(({ source }) => source),
    ["ab"],
  );
  assert.deepEqual(runs[1]?.request.plugins, ["ab"]);
  assert.equal(rehearsal.pending.value, false);
  assert.equal(rehearsal.before.value, runs[0]);
  type("abc");
  await pause(400);
  assert.equal(runs[1]?.stopped, true);
  assert.equal(rehearsal.run.value, runs[2]);
  assert.equal(rehearsal.before.value, runs[0], "the run that was cut short is nothing to compare with");
  type("abc");
  await pause(400);
  assert.equal(runs.length, 3, "the same attempt runs once");
});

test("Rehearsal.change: a script that is not sound does not run, and says where", async (t) => {
  const error = { message: "SyntaxError: expecting ')'", line: 2 };
  const { rehearsal, runs, type, pause } = rehearse(t, (source) =>
    source === "bad" ? { ...sound, error } : sound,
  );
  type("good");
  await pause(0);
  type("bad");
  await pause(400);
  assert.equal(runs.length, 1);
  assert.equal(runs[0]?.stopped, false, "the last sound answer goes on");
  assert.deepEqual(rehearsal.error.value, error);
  type("good again");
  await pause(400);
  assert.equal(rehearsal.error.value, undefined);
  assert.equal(runs.length, 2);
  type("good again", "{");
  await pause(400);
  assert.match(rehearsal.configError.value, /^This is not JSON: /);
  assert.equal(runs.length, 2);
});

test("Rehearsal.change: a check that is out of date counts no more", async (t) => {
  const { rehearsal, checks, runs, type, pause, clock } = rehearse(t);
  type("a");
  clock.pass(0); // its check is asked for, and not answered yet
  type("ab");
  await pause(0);
  assert.equal(checks[0]?.signal.aborted, true);
  assert.equal(runs.length, 0);
  rehearsal.stop();
  await pause(400);
  assert.equal(runs.length, 0);
});

test("Rehearsal.change: where scripts are off it says so", async (t) => {
  const off = new Refused(403, { message: "plugins.scripts is off" });
  const { rehearsal, runs, type, pause } = rehearse(t, () => {
    throw off;
  });
  type("a");
  await pause(0);
  assert.deepEqual(rehearsal.refusal.value, { said: "plugins.scripts is off.", help: "allow" });
  assert.equal(runs.length, 0);
});

test("Rehearsal.change: what a script says of its configuration is none of its own errors", async (t) => {
  const error = { message: "config.word is missing", ofConfig: true };
  const { rehearsal, runs, type, pause } = rehearse(t, () => ({ ...sound, error }));
  type("a", "{}");
  await pause(0);
  assert.equal(rehearsal.error.value, undefined);
  assert.equal(rehearsal.configError.value, "config.word is missing.");
  assert.equal(runs.length, 0);
});

test("errorOfRun: the line is that of the script", () => {
  const failed = (message: string) => {
    const run = new FakeRun(request);
    run.end("");
    const { answer } = run.message.peek();
    if (answer !== undefined)
      run.message.value = {
        ...run.message.peek(),
        answer: { ...answer, outcome: { reason: "error", error: { message } } },
      };
    return errorOfRun(run);
  };
  assert.deepEqual(failed("TypeError: no foo (script.js:3:5)"), {
    message: "TypeError: no foo",
    line: 3,
    column: 5,
  });
  assert.equal(failed("busy"), undefined, "it is none of the script");
  assert.equal(errorOfRun(undefined), undefined);
});
