// SPDX-License-Identifier: MIT

package config

// Programs bounds what a program, a plugin that writes an answer itself, may use in a request.
type Programs struct {
	Branches int `koanf:"branches"` // at once; 0: a half of the slots, at most 8
	Tokens   int `koanf:"tokens"`   // that it puts into branches; 0: by the request's prompt and max_tokens
	Fuel     int `koanf:"fuel"`     // of all its work, in units
}

var programKeys = []Key{
	{Name: "programs.branches", Flag: "program-branches", Kind: Integer, Default: 0, check: between(0, 64),
		Allowed: "0 to 64", Help: "most branches that a program has at once, each of which takes a slot; 0: half of the slots, at least 1 and at most 8"},
	{Name: "programs.tokens", Flag: "program-tokens", Kind: Integer, Default: 0, check: between(0, 1<<30),
		Allowed: "0 or more tokens", Help: "most tokens that a program puts into its branches in a request, prompts included; 0: its prompt, and for each branch a prompt, max_tokens and 256"},
	{Name: "programs.fuel", Flag: "program-fuel", Kind: Integer, Default: 100_000_000_000, check: between(1, 1<<60),
		Allowed: "1 or more units", Help: "most fuel of a program in a request, about one unit for each WebAssembly instruction; how much it has between two waits is the ABI's"},
}
