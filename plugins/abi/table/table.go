// SPDX-License-Identifier: MIT

// Package table describes plugin ABI v1, once for the host, the SDKs and the documentation.
//
// The generator in plugins/abi/gen turns it into the host's constants, the bindings of both
// SDKs and docs/abi/v1.md, so that none of them can drift from another.
//
// Names are kept in snake_case here, as they stand on the wire; each target
// language derives its own spelling.
package table

import (
	_ "embed"
	"fmt"
)

// Module is the name that every import of the ABI is under.
const Module = "penstock"

// Optional is the module name of imports that a host need not have: one that
// is not there traps when it is called, not when the plugin is loaded.
const Optional = "penstock-optional"

// Version is the ABI version; it is the suffix of the version export.
const Version = 1

// Type is a WebAssembly value type.
type Type string

// The value types that cross the boundary.
const (
	I32 Type = "i32"
	I64 Type = "i64"
	F32 Type = "f32"
)

// Func is one export or one import.
type Func struct {
	Name     string
	Params   []Value
	Result   Type   // empty where the function returns nothing
	Optional bool   // for exports: a plugin may leave it out although it has others of its kind
	Added    bool   // not in v1 at first: plugins import it from Optional and ask feature, or name the export in the manifest's optional
	When     string // for exports: when the host calls it, in a few words
	Doc      string // semantics, in Markdown
	Fuel     string // for exports: which limit holds
	Worked   string // an example with numbers, in Markdown; may be empty

	// The rest is about imports.
	Cost   Cost
	In     []string // the exports in which it may be called, elsewhere a fault; empty: in all
	Fills  string   // the bound buffer that it writes to, by its name; empty: none
	Long   bool     // its fuel says little of its time: others may run before it
	Waits  bool     // it may wait for other work of the host, which is not the plugin's time
	Record Record   // what a recording has of a call
}

// Constant is one named number.
type Constant struct {
	Name  string
	Value int64
	Doc   string
}

// Group is a set of constants that belong to one parameter or result.
type Group struct {
	Prefix    string // first word of every name
	Title     string // heading in the reference
	Doc       string
	Constants []Constant
}

// Field is an array inside a buffer, without padding after the one before.
type Field struct {
	Name  string
	Type  string // u8, u32 or f32
	Count string // elements: 1, cap, n_vocab, or words (a bit for each token, in u32)
}

// Buffer is a region of guest memory that the guest binds once.
type Buffer struct {
	Name   string
	Kind   int64
	Fields []Field
	Doc    string
	Worked map[string]int64 // values of cap and n_vocab for the worked example
}

// Limit is a bound that the host enforces, with its default.
type Limit struct {
	Name  string
	Value int64
	Unit  string
	Doc   string // what happens beyond it
}

// Feature is something that a host of v1 may lack although it is neither an import nor an export.
// The import feature knows it by its name.
type Feature struct {
	Name string
	Doc  string
}

// Table is the whole ABI.
type Table struct {
	Exports  []Func
	Imports  []Func
	Buffers  []Buffer
	Groups   []Group
	Limits   []Limit
	Features []Feature
	Rules    []Section
}

// Section is a piece of prose for the reference.
type Section struct {
	Title string
	Text  string
}

// V1 returns the table of ABI version 1.
func V1() Table {
	return Table{
		Exports:  exports(),
		Imports:  imports(),
		Buffers:  buffers(),
		Groups:   groups(),
		Limits:   limits(),
		Features: features(),
		Rules:    rules(),
	}
}

func features() []Feature {
	return []Feature{
		{"implements", "the manifest's `implements` has an effect; without this feature a plugin implements what it exports"},
		{"branches", "a plugin may export `penstock_run`, a program that owns the request; its host functions are separate imports from `penstock-optional`"},
		{"sample_keep", "`penstock_sample` may return −1 − k: the first k candidates stay"},
		{"prepare_force_many", "`penstock_prepare` may force several tokens with one bit 4: n from 1 to cap, see *prepare bits*; without it n must be 1"},
		{"stop_replay", "a plugin with `penstock_stop` and without `penstock_rewind` starts again if text that it was shown was taken back, and is shown the remaining text again; see `penstock_rewind`"},
		{"sample_bias", "`penstock_sample` may return that the bias buffer is to be added to the logits: it can then change some logits after seeing them, without the whole row, and without dropping tokens outside the view. Worked: the bias buffer has n = 1 and the entry (7, −2.5), and the answer is −2147483648: the next stage sees the logit of token 7 lowered by 2.5, whether the view had shown it or not"},
		{"take_back", "the manifest's `take_back` has an effect"},
		{"state_layer", "the manifest's and a plan's `state_layer` have an effect"},
		{"strict_mask", "the manifest's `strict_mask` has an effect"},
		{"param_time", "`param` returns the request's time; without this feature it returns −1, as for any unknown kind"},
		{"param_choice", "`param` returns the number of this choice and how many there are; without this feature it returns −1"},
		{"config_defaults", "`config` includes the `default` values of the manifest's schema where the request gave none; without this feature the plugin fills them in itself. A host looks for defaults in `properties`, `items` and `prefixItems`, and follows `$ref` and `allOf`. Required properties must still be given. If a configuration only fits the schema without the defaults, it gets none"},
		{"fail_trap", "the text that `fail` was given before a trap is the fault's; without this feature the fault says where the call trapped"},
	}
}

func limits() []Limit {
	return []Limit{
		{"hook_fuel", 20_000_000, "units", "each call of prepare, sample, accept, stop, filter, rewind, close: a fault"},
		{"setup_fuel", 2_000_000_000, "units", "each call of describe, warm, open, template, `_initialize` and the start function: a fault"},
		{"hook_ms", 1000, "ms", "each call of prepare, sample, accept, stop, filter, rewind, close: a fault. The wait for those of other requests and for a processor counts for close alone. It stops code that waits for memory at every instruction, which fuel does not measure"},
		{"setup_ms", 2500, "ms", "all set-up calls of a request together, including the wait for those of other requests: a fault"},
		{"plan_fuel", 2_000_000_000, "units", "each call of `penstock_plan`: a fault"},
		{"plan_ms", 500, "ms", "computing of each call of `penstock_plan`, without the wait for those of other requests: a fault"},
		{"plan_bytes", 64 << 10, "bytes that `penstock_plan` emits", "a fault"},
		{"plan_memory", 16 << 20, "bytes of pages that `penstock_plan` changes", "a fault"},
		{"load_ms", 60_000, "ms", "each set-up call when a plugin is loaded: a fault. It only matters on a busy machine, since fuel bounds the work"},
		{"memory_pages", 1024, "pages of 64 KiB", "growing fails; a larger minimum is refused"},
		{"table_elements", 65_536, "elements, all tables together", "growing fails; larger minima are refused"},
		{"stack_bytes", 8 << 20, "bytes", "the guest's call stack, as estimated when the module is rewritten: a fault"},
		{"module_bytes", 16 << 20, "bytes", "refused"},
		{"body_bytes", 1 << 20, "bytes a function", "refused"},
		{"types", 1000, "function types", "refused"},
		{"arity", 128, "parameters of a type, and as many results", "refused"},
		{"imports", 256, "imports", "refused"},
		{"functions", 50_000, "functions, imported ones included", "refused"},
		{"exports", 1000, "exports", "refused"},
		{"symbol_bytes", 1024, "bytes of the name of an import or export", "refused"},
		{"globals", 1000, "globals", "refused"},
		{"segments", 100_000, "data segments, and as many element segments", "refused"},
		{"locals", 10_000, "locals of a function, parameters included", "refused"},
		{"all_locals", 4_000_000, "locals of all functions", "refused"},
		{"upload_ms", 120_000, "ms from an upload to its answer", "refused, with the advice to put the file into the plugin folder. It only matters on a busy machine"},
		{"compile_ms", 30_000, "ms of all processors together", "refused; a module is also refused at once if compiling it would take too much work"},
		{"log_bytes", 64 << 10, "bytes a request", "the rest is cut"},
		{"emit_bytes", 8 << 20, "bytes a call of an export", "a fault"},
		{"fail_bytes", 4 << 10, "bytes", "the rest is cut"},
		{"tokenize_bytes", 64 << 10, "bytes of text", "`tokenize` answers −1"},
		{"feature_bytes", 64, "bytes of a feature's name", "`feature` answers 0"},
		{"output_bytes", 64 << 10, "bytes of all values of a plugin in a choice", "`output` answers −1"},
		{"outputs", 64, "values of a plugin in a choice", "`output` answers −1"},
		{"note_bytes", 256, "bytes of a note", "`note` answers −1"},
		{"notes", 8, "notes of a plugin for a token", "`note` answers −1"},
		{"held_bytes", 4 << 10, "bytes of text held back by stop plugins", "a fault; so are more that `penstock_filter` keeps back"},
		{"filter_bytes", 64 << 10, "bytes that a call of `penstock_filter` hands to `emit`; all calls for an answer may hand over 8 bytes more for each byte of text that they were given", "a fault"},
		{"text_bytes", 256, "bytes", "minimum size of a text buffer"},
		{"grammar_bytes", 256 << 10, "bytes of a grammar", "`grammar_open` returns a negative number"},
		{"grammars", 4, "handles per instance", "`grammar_open` returns a negative number"},
		{"branches", 64, "branches of a program at once", "a manifest with more is refused"},
		{"chains", 64, "sampler chains of a program, in addition to the request's", "`chain_open` answers −5"},
		{"chain_bytes", 64 << 10, "bytes of the parameters of a chain", "`chain_open` answers −5"},
		{"branch_messages_bytes", 1 << 20, "bytes of messages", "`branch_open_messages` answers −5, and `prompt` −1"},
		{"faults", 5, "faults a minute", "the client must wait, see *faults*"},
		{"candidates", 4096, "candidates", "maximum in a manifest; at least 1"},
		{"default_candidates", 256, "candidates", "used if the manifest names none"},
		{"draft", 16, "tokens", "maximum that `penstock_draft` is asked for"},
		{"state_layer", 10000, "layers", "maximum of `state_layer` in a manifest, from either end"},
		{"take_back", 1000000, "tokens", "maximum in a manifest"},
		{"hold", 256, "tokens", "maximum in a manifest; at least 0"},
		{"schema_depth", 64, "levels", "maximum depth of a manifest's config schema"},
		{"name_bytes", 64, "bytes", "maximum length of a plugin's name, `[a-z0-9][a-z0-9._-]{0,63}`"},
	}
}

// The reference's sections of prose, in Markdown.
var (
	//go:embed rules/order.md
	order string
	//go:embed rules/programs.md
	programs string
	//go:embed rules/media.md
	media string
	//go:embed rules/fuel.md
	fuel string
	//go:embed rules/faults.md
	faults string
	//go:embed rules/manifest.md
	manifest string
	//go:embed rules/plans.md
	plans string
	// growth says how v1 can be extended although it is frozen.
	//go:embed rules/growth.md
	growth string
	//go:embed rules/wasi.md
	wasi string
)

func rules() []Section {
	return []Section{
		{"Order of calls", order}, {"Programs", programs}, {"Pictures and sounds", media},
		{"Random numbers", randomNumbers()}, {"Fuel and stack", fuel}, {"Faults", faults},
		{"Manifest", manifest}, {"Plans", plans}, {"Growth", growth}, {"WASI", wasi},
	}
}

// Splitmix64 are the numbers of the generator that random numbers come from. A step adds
// Increment, then twice shifts and multiplies, then shifts once more.
type Splitmix64 struct {
	Increment   uint64
	Shifts      [3]int
	Multipliers [2]uint64
}

// Generator is the one of the import random.
var Generator = Splitmix64{0x9e3779b97f4a7c15, [3]int{30, 27, 31}, [2]uint64{0xbf58476d1ce4e5b9, 0x94d049bb133111eb}}

// WorkedDraw is the example of the reference: the first draws at position 12 with seed 7 in the
// first plugin of a chain.
var WorkedDraw = struct {
	Seed, Place, Position uint64
	Draws                 [2]uint64
}{7, 0, 12, [2]uint64{0x2f11555552b85a98, 0x22eb725279bc4bf7}}

func randomNumbers() string {
	g, w := Generator, WorkedDraw
	return fmt.Sprintf(`The result of `+"`random`"+` is a function of four numbers: the seed of the choice, the plugin's place
among the request's plugins (from 0), the position, which is the length of the history, and the
number of earlier draws at that position. x begins at 0. For each of the four numbers in this order,
x becomes a step of splitmix64 (Steele, Lea and Flood, 2014) of x XOR the number, in unsigned 64-bit
arithmetic that wraps: add %#x; XOR with itself shifted right by %d, times
%#x; XOR with itself shifted right by %d, times %#x; XOR with itself
shifted right by %d.

*Worked:* seed %d, place %d, position %d: the first draw is %#x, the second
%#x.`,
		g.Increment, g.Shifts[0], g.Multipliers[0], g.Shifts[1], g.Multipliers[1], g.Shifts[2],
		w.Seed, w.Place, w.Position, w.Draws[0], w.Draws[1])
}
