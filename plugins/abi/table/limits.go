// SPDX-License-Identifier: MIT

package table

func limits() []Limit {
	return []Limit{
		{"hook_fuel", 20_000_000, "units", "each call of prepare, sample, accept, stop, rewind, close: a fault"},
		{"setup_fuel", 1_000_000_000, "units", "each call of describe, warm, open, template, `_initialize` and the start function: a fault"},
		{"hook_ms", 1000, "ms", "each call of prepare, sample, accept, stop, rewind, close: a fault; for what waits for memory with every instruction, as fuel does not tell"},
		{"setup_ms", 2500, "ms", "all set-up calls of a request together, with the wait for others' (each by itself when a plugin is loaded): a fault"},
		{"memory_pages", 1024, "pages of 64 KiB", "growing fails; a larger minimum is refused"},
		{"table_elements", 65_536, "elements, all tables together", "growing fails; larger minima are refused"},
		{"stack_bytes", 8 << 20, "bytes", "guest call stack, as the rewriter estimates it: a fault"},
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
		{"upload_ms", 2500, "ms from an upload to its answer", "refused, with the advice to put the file into the plugin folder; a clock and not fuel"},
		{"compile_ms", 10_000, "ms", "refused; in the plugin folder a minute, so it allows for a busy machine"},
		{"log_bytes", 64 << 10, "bytes a request", "the rest is cut"},
		{"emit_bytes", 8 << 20, "bytes a call of an export", "a fault"},
		{"fail_bytes", 4 << 10, "bytes", "the rest is cut"},
		{"tokenize_bytes", 64 << 10, "bytes of text", "`tokenize` answers −1"},
		{"feature_bytes", 64, "bytes of a feature's name", "`feature` answers 0"},
		{"held_bytes", 4 << 10, "bytes of text held back by stop plugins", "a fault"},
		{"text_bytes", 256, "bytes", "least size of a text buffer"},
		{"grammar_bytes", 256 << 10, "bytes of a grammar", "`grammar_open` answers negative"},
		{"grammars", 4, "handles an instance", "`grammar_open` answers negative"},
		{"faults", 5, "faults a minute", "the client waits, see *faults*"},
		{"candidates", 4096, "candidates", "most that a manifest may ask for; at least 1"},
		{"default_candidates", 256, "candidates", "used where the manifest names none"},
		{"hold", 256, "tokens", "most that a manifest may hold; at least 0"},
		{"schema_depth", 64, "levels", "deepest config schema of a manifest"},
		{"name_bytes", 64, "bytes", "longest name of a plugin, `[a-z0-9][a-z0-9._-]{0,63}`"},
	}
}
