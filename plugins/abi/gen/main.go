// SPDX-License-Identifier: MIT

// Command gen writes everything that is derived from the table of the plugin
// ABI. Run it through go generate ./plugins/abi.
package main

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/penstock/penstock/plugins/abi/table"
)

func main() {
	root := flag.String("root", ".", "root of the repository")
	flag.Parse()
	if err := write(*root, table.V1()); err != nil {
		fmt.Fprintln(os.Stderr, "gen:", err)
		os.Exit(1)
	}
}

// outputs maps each generated file, relative to the repository's root, to
// what renders it.
var outputs = map[string]func(table.Table) ([]byte, error){
	"plugins/abi/zabi.gen.go":                    renderHostConstants,
	"plugins/sdk/go/internal/abi/abi.gen.go":     renderGuestConstants,
	"plugins/sdk/go/internal/abi/imports.gen.go": renderGuestImports,
	"plugins/sdk/go/internal/abi/native.gen.go":  renderGuestNative,
	"plugins/sdk/rust/src/abi.gen.rs":            renderRust,
	"docs/abi/v1.md":                             renderReference,
}

func write(root string, t table.Table) error {
	for name, render := range outputs {
		text, err := render(t)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		path := filepath.Join(root, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if had, err := os.ReadFile(path); err == nil && bytes.Equal(had, text) {
			continue // a newer file would have every plugin built again
		}
		if err := os.WriteFile(path, text, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// accesses and records are the names of the host's constants.
var (
	accesses = map[table.Access]string{table.Read: "Read", table.Write: "Write", table.Update: "Update", table.Keep: "Keep"}
	records  = map[table.Record]string{table.RecordFitting: "RecordFitting", table.RecordWhole: "RecordWhole"}
)

// writeDetails renders what the host needs to know of an import besides its type.
func writeDetails(b *bytes.Buffer, t table.Table, f table.Func) {
	lists := ""
	for at, p := range f.Params {
		if p.Access == table.None {
			continue
		}
		more := ""
		if p.Null {
			more = ", Null: true"
		}
		if p.Most != "" {
			more += ", Most: " + camelCase("limit_"+p.Most)
		}
		lists += fmt.Sprintf("{At: %d, N: %d, List: %s, Access: %s%s},", at, f.Entries(at), camelCase("list_"+string(p.List)), accesses[p.Access], more)
	}
	if lists != "" {
		b.WriteString(", Memory: []Memory{" + lists + "}")
	}
	if c := f.Cost; c != (table.Cost{}) {
		per := slices.IndexFunc(f.Params, func(p table.Value) bool { return c.Per != "" && p.Name == c.Per })
		fmt.Fprintf(b, ", Cost: Cost{Fixed: %d, Byte: %d, Vocabulary: %d, Each: %d, Read: %v, Wrote: %v, Per: %d}", c.Fixed, c.Byte, c.Vocabulary, c.Each, c.Read, c.Wrote, per)
	}
	if len(f.In) > 0 {
		b.WriteString(", In: []string{")
		for _, name := range f.In {
			b.WriteString(exportName(name) + ",")
		}
		b.WriteString("}")
	}
	if f.Fills != "" {
		b.WriteString(", Fills: " + camelCase("buffer_"+f.Fills))
	}
	if f.Long {
		b.WriteString(", Long: true")
	}
	if f.Waits {
		b.WriteString(", Waits: true")
	}
	if name := records[f.Record]; name != "" {
		b.WriteString(", Record: " + name)
	}
}

// initialisms keep their capitals in Go names.
var initialisms = map[string]string{
	"abi": "ABI", "bos": "BOS", "eos": "EOS", "eot": "EOT", "gbnf": "GBNF", "json": "JSON", "ms": "MS",
}

// camelCase turns snake_case into an exported Go name.
func camelCase(snake string) string {
	var b strings.Builder
	for word := range strings.SplitSeq(strings.Trim(snake, "_"), "_") {
		if capital, ok := initialisms[word]; ok {
			b.WriteString(capital)
			continue
		}
		if word != "" {
			b.WriteString(strings.ToUpper(word[:1]) + word[1:])
		}
	}
	return b.String()
}

// exportName drops the prefix that all exports share, so that constants read
// ExportSample and not ExportPenstockSample.
func exportName(name string) string {
	return "Export" + camelCase(strings.TrimPrefix(name, "penstock_"))
}

// writeGoDraw renders the function that computes random numbers, for the host and for the tests of the
// Go SDK.
func writeGoDraw(b *bytes.Buffer) {
	g := table.Generator
	fmt.Fprintf(b, `// Draw is the result of the import random: a function of the seed, the plugin's place in the chain,
// the position and the number of earlier draws at that position. See "Random numbers" in
// docs/abi/v1.md.
func Draw(seed, place, position, before uint64) uint64 {
	x := uint64(0)
	for _, part := range [...]uint64{seed, place, position, before} {
		x = (x ^ part) + %#x
		x = (x ^ x>>%d) * %#x
		x = (x ^ x>>%d) * %#x
		x ^= x >> %d
	}
	return x
}

`, g.Increment, g.Shifts[0], g.Multipliers[0], g.Shifts[1], g.Multipliers[1], g.Shifts[2])
}

// writeRustDraw is goDraw in Rust.
func writeRustDraw(b *bytes.Buffer) {
	g := table.Generator
	fmt.Fprintf(b, `
/// The result of the import random: a function of the seed, the plugin's place in the chain, the
/// position and the number of earlier draws at that position. See "Random numbers" in
/// docs/abi/v1.md.
pub fn draw(seed: u64, place: u64, position: u64, before: u64) -> u64 {
    [seed, place, position, before].iter().fold(0u64, |x, part| {
        let x = (x ^ part).wrapping_add(%#x);
        let x = (x ^ x >> %d).wrapping_mul(%#x);
        let x = (x ^ x >> %d).wrapping_mul(%#x);
        x ^ x >> %d
    })
}
`, g.Increment, g.Shifts[0], g.Multipliers[0], g.Shifts[1], g.Multipliers[1], g.Shifts[2])
}
