// SPDX-License-Identifier: MIT

package table

func rules() []Section {
	return []Section{{"Order of calls", order}, {"Programs", programs}, {"Pictures and sounds", media}, {"Random numbers", randomNumbers()}, {"Fuel and stack", fuel}, {"Faults", faults},
		{"Manifest", manifest}, {"Growth", growth}, {"WASI", wasi}}
}

const order = `1. When a request is submitted, its configuration is checked against the manifest's schema. ` + "`penstock_template`" + ` also runs then,
   before queueing, in an instance of its own.
   Set-up calls of all requests take turns of 5 ms on half of the processors. One that takes more than 100 ms in all gets a
   quarter of a processor from then on. Any other call needs turns once it has taken 5 ms.
2. ` + "`penstock_open`" + ` runs when the request gets its slot, without holding up other answers; a refusal is still a 400. With n
   choices each has its own instance, with seed + i.
3. Then for each token: ` + "`prepare`" + ` (once, during the pass that yields the row) → row → masks and biases → the chain with ` + "`sample`" + ` →
   choice → ` + "`accept`" + ` → text → ` + "`stop`" + ` → next pass. Calls on one instance never overlap, ` + "`sample`" + ` waits for ` + "`prepare`" + `, and a parked
   or paused slot makes no calls.
4. Masks and biases of all plugins apply to the raw row before the first stage, wherever the plugin stands in the chain. A token
   must be allowed by all masks, biases add up, and −inf bans. If no token is left, or none that the request's own grammar and
   biases allow, this is the fault of the last plugin in the chain that removed a token. With ` + "`on_error: skip`" + ` the mask and biases
   of that plugin are left out, and so on until a token is left. If the chain had begun, it begins again, so ` + "`sample`" + ` may be
   called twice for one token. The first plugin in the chain that forces wins. Of several forced tokens each is told to
   every ` + "`accept`" + ` and ` + "`stop`" + ` as any token is, and no ` + "`prepare`" + ` or ` + "`sample`" + ` runs between them. What ends the answer or
   takes tokens back ends the run: the rest of it does not come.
5. The chain runs in order. The first stage that returns a token ends it; if none does, the host draws with the request's seed
   (greedy at temperature 0). A plugin with the logits view must stand before any stage that truncates, else the request is a 400.
   A token that a plugin forces or chooses, and every token of a forced run or a splice, is tested against the request's grammar before anything
   is accepted; a violation is that plugin's fault. With ` + "`on_error: skip`" + ` the answer goes on as if the plugin had not asked: the
   next plugin's forced token counts, the chain goes on after it, nothing is taken back.
   Masks do not bind what a plugin forces, chooses or splices, unless the manifest of the masking plugin has ` + "`strict_mask`" + `. Then each such
   token of another plugin is tested against its mask, and a violation is the fault (a conflict) of the plugin that asked for the token.
   For the tokens of a run or a splice after the first, the ` + "`prepare`" + ` of the masking plugin is called again, once before each; a violation
   there ends the run or the splice, whose tokens before it stay. *Worked:* a plugin whose mask allows tokens 5 and 6 stands beside one that
   forces 5, 9: 5 is accepted, then the other is at fault; with ` + "`on_error: skip`" + ` the answer goes on after 5.
6. Plugins are asked to ` + "`accept`" + ` in chain order. The first that answers 2 wins, and later ones are not asked. Every other plugin
   is told through ` + "`rewind`" + `. An end token in a splice ends the answer. A request may compute at most 2 × n + 256 tokens before a
   splice, including those taken back. Here n is max_tokens, or the room in the context if that is less or max_tokens is 0.
   The largest ` + "`take_back`" + ` of the request's plugins is added. *Worked:* with max_tokens 100 and a plugin with ` + "`\"take_back\": 5000`" + ` they are 5,456.
7. Tokens that a plugin with ` + "`\"hold\": h`" + ` may still take back have not been shown: the stream runs h tokens behind. After a splice that
   makes the answer shorter, or a user's rewind, it runs fewer behind until as many tokens have come again. A splice may reach tokens that
   were shown then: over the WebSocket the client is told; in a REST answer their text stays.
8. A call ends soon after its request is over: when it is cancelled, when ` + "`timeout_ms`" + ` passes or when the client goes away.
   ` + "`penstock_close`" + ` is called nevertheless.
9. The tick waits for plugin stages at most 1 ms longer than native sampling takes. A slot that is not ready then sits out until
   it is; the others go on.`

const programs = `While a plugin with ` + "`penstock_run`" + ` writes an answer, nothing else draws its tokens. What that means:

| | until the program has returned | after ` + "`adopt`" + ` |
|---|---|---|
| stop strings, ` + "`max_tokens`" + `, end tokens | end a choice at what is shown of it; when all have ended, so does the program | as ever |
| ` + "`logprobs`" + ` | what ` + "`show`" + ` is given of a token, else none; no others beside it | as ever |
| samplers, ` + "`grammar`" + `, ` + "`response_format`" + `, tools | hold for draws and runs with chain 0, and those made of it, from where a branch was opened; not for what is shown. Tool calls in the text that is shown are taken out of it | as ever, from the branch's first ` + "`from`" + ` tokens on |
| other plugins | ` + "`accept`" + ` and ` + "`stop`" + ` are told of what is shown, and may stop, splice or take it back; ` + "`prepare`" + ` and ` + "`sample`" + ` are not called | as ever; where the prompt is another, they are told as after a ` + "`rewind`" + ` |
| pause, resume | of any choice: the program and all its choices wait, and its slots go to others | the choice alone |
| rewind, inject | refused with a 400 | as ever |
| set | refused with a 400 | as ever in the first choice, refused in the others |
| fork | refused with a 400 | refused with a 400: the program would write the fork |
| a slot of its own, an answer that has begun, log-probabilities of the prompt | refused with a 400 | cannot be asked for any more |
| cancelling a choice | the first: the program and all choices end; another: it alone | the choice alone |

Tokens of programs are not guessed (speculation); those of adopted answers are. Adapters compute branches as they compute answers, from the position on
from which the request has them. A branch never shifts: where the context is full, the answer is −2, a run ends with the state 3, and an adopted answer ends
with reason ` + "`length`" + `. Models whose memory cannot be cut, as recurrent ones, share what forks have in common at its end; a cut
before it is computed again from the last checkpoint, or the beginning. Models on other machines have branches as they have answers.

*Worked:* a request with ` + "`n`" + ` = 3 has three choices. A program shows four tokens of each and adopts the second: the first and the third have four
tokens and the reason ` + "`stop`" + `, the second goes on after its four.`

const fuel = `Fuel counts a guest's work, about one unit for each WebAssembly instruction. The host writes the code that counts into the module
when it loads it. Fuel is the same on every machine, so a fault can be reproduced.

Every instruction is paid for before it runs: function entries, loop headers, bulk operations and joins of paths that paid for
different code each pay the static length of what follows. A stretch of code that is longer than 24 units also ends at a call, an
else or a join, and what comes after pays for itself; in a stretch of up to 24 units, the code after a call was paid for before
it. No stretch is longer than 1,000 units. ` + "`memory.copy`" + `, ` + "`memory.fill`" + `, ` + "`memory.init`" + `, ` + "`table.*`" + ` and ` + "`memory.grow`" + ` pay bytes / 16
on top (a table element counts 8 bytes, a page 65,536), before they run and whether they succeed or not. A call of a host function
pays 128 units, and what its entry says on top.

The host checks whether fuel is left at function entries, loop headers, bulk operations, host functions and the end of a call, and
between them after each 1 KiB of code.

*Worked:* ` + "`memory.fill`" + ` of 1 MiB pays 65,536 units; ` + "`memory.grow(1)`" + ` pays 4,096; a loop of 10 instructions that runs 1,000 times
pays about 10,000.

Each function's entry also pays for its frame on the call stack: 128 bytes, 8 for each parameter, result and local (16 for a
v128), and 2 for each byte of code. Small functions that call nothing pay nothing.`

const faults = `These are faults of a plugin in a request: a trap, an exhausted limit, an answer that is not listed, a buffer out of bounds, a
token out of range, NaN, and ` + "`proc_exit`" + `. The instance is thrown away. The stream ends with reason ` + "`error`" + `, naming plugin, export
and cause, or, with ` + "`on_error: skip`" + `, goes on without the plugin. Other streams notice nothing.

Faults count against the client that sent the request, and affect nobody else. After five faults within a minute with one
configuration, the client must wait before it can use the plugin with that configuration again. After faults with five different
configurations, it must wait before it can use the plugin at all. The wait is 1 s at first, twice as long after each further
fault, and 5 minutes at most; a request in this time is refused with 429 and ` + "`Retry-After`" + `. A request that is served without a
fault ends the wait, and so do a reset and a new upload. As long as any client waits, the plugin's state is ` + "`quarantined`" + `; others
use it as before. A plugin that the operator has in every request is always tried.

Some faults are not counted: those that only the request's grammar or another plugin caused, those of a call that waited for
others, and those that nobody waits for any more. Clients are told apart by their API keys, or by their addresses if there are
none.`

const manifest = "```json\n" + `{"name": "min-p", "version": "1.0.0", "summary": "…", "view": "candidates", "candidates": 256, "hold": 0, "config_schema": {"type": "object"}}
` + "```" + `

| field | allowed | default |
|---|---|---|
| ` + "`name`" + ` | ` + "`[a-z0-9][a-z0-9._-]{0,63}`" + ` | required |
| ` + "`version`, `summary`" + ` | text | empty |
| ` + "`view`" + ` | ` + "`candidates`, `logits`, `none`" + ` | ` + "`candidates`" + ` with ` + "`penstock_sample`, else `none`" + ` |
| ` + "`candidates`" + ` | 1–4096 | 256 |
| ` + "`hold`" + ` | 0–256 tokens | 0 |
| ` + "`take_back`" + ` | 0–1,000,000 tokens that an answer with the plugin may compute beyond what is allowed without (feature ` + "`take_back`" + `): for a plugin that searches, and takes many tokens back for each that stays | 0 |
| ` + "`strict_mask`" + ` | ` + "`true`, `false`" + `: tokens that other plugins force, choose or splice must be allowed by the plugin's mask (feature ` + "`strict_mask`" + `) | ` + "`false`" + ` |
| ` + "`place`" + ` | ` + "`first`, `last`" + `: where the plugin stands in chains that do not name it | ` + "`last`" + ` with the candidates view, else ` + "`first`" + ` |
| ` + "`config_schema`" + ` | a JSON schema that compiles, at most 64 levels deep, with at most 10,000 values and regular expressions of at most 100,000 instructions together, whose defaults fit it, and against which a value is checked in bounded time | any object |
| ` + "`optional`" + ` | a list of names ` + "`penstock_…`" + `: exports that the plugin has for hosts that know them | none |
| ` + "`branches`" + ` | 1–64: how many branches a plugin with ` + "`penstock_run`" + ` has at once; each takes a slot | 1 |
| ` + "`branches_config`" + ` | the property of its configuration, a number, by which a request asks for fewer of them | none |

Plugins that are placed first stand before the chain's own stages, and those that are placed last after them, both in the request's order. A request's ` + "`samplers`" + `
overrides the hint. A plugin with the logits view cannot be placed last. A field that is not in this table is kept, shown by ` + "`GET /v1/plugins`" + ` and otherwise ignored.`

// growth is what makes it possible to freeze v1.
const growth = `Version 1 is frozen: what this document says of an export, an import, a buffer, a code or a manifest field never changes, and no name is used again for something else. Later hosts may add
things. A host that does not know them treats them as follows, so that one module runs on both.

| added | on a host that does not know it |
|---|---|
| a field of the manifest | kept, shown and ignored |
| an import | a module that imports it from ` + "`penstock`" + ` is refused, naming it. If it is imported from ` + "`penstock-optional`" + ` instead, it is the same function on a host that has it, and calling it is a fault on one that does not |
| an export ` + "`penstock_…`" + ` | the module is refused, naming the export and the likeliest right spelling, unless the manifest's ` + "`optional`" + ` names it; then it is never called |
| a buffer, a code or another *feature* | ` + "`bind`" + ` refuses an unknown kind, ` + "`param`" + ` and ` + "`special`" + ` answer −1, an unknown answer of a plugin is a fault |

` + "`feature`" + ` tells whether the host has a function, and exists on every host of v1:

` + "```wat" + `
(import "penstock" "feature" (func $feature (param i32 i32) (result i32)))
(import "penstock-optional" "telepathy" (func $telepathy (result i32)))
(data (i32.const 64) "telepathy")
(func $listen (result i32)
  (if (result i32) (call $feature (i32.const 64) (i32.const 9))
    (then (call $telepathy)) (else (i32.const 0))))
` + "```" + `

In Go such an import is declared under ` + "`//go:wasmimport penstock-optional telepathy`" + `, in Rust in a block under ` + "`#[link(wasm_import_module = \"penstock-optional\")]`" + `.`

const wasi = `WASI preview 1 exists for toolchains that need it, and does little. stdout and stderr go to the log, ` + "`random_get`" + ` draws from
` + "`random`" + `, the clock starts at 0 and gains 1 µs with each reading, and what ` + "`poll_oneoff`" + ` waits for passes at once; everything else
is refused. Besides the price of a call, ` + "`fd_write`" + ` pays 128 units and ` + "`poll_oneoff`" + ` 64 for each entry of its list and bytes / 16,
and ` + "`random_get`" + ` pays 2 × bytes.`
