// SPDX-License-Identifier: MIT

package main

import (
	"bytes"
	"fmt"
	"slices"

	"github.com/penstock/penstock/plugins/abi/table"
)

// accesses and records are the names of the host's constants.
var (
	accesses = map[table.Access]string{table.Read: "Read", table.Write: "Write", table.Update: "Update", table.Keep: "Keep"}
	records  = map[table.Record]string{table.RecordFitting: "RecordFitting", table.RecordWhole: "RecordWhole"}
)

// described renders what the host needs to know of an import besides its type.
func described(b *bytes.Buffer, t table.Table, f table.Func) {
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
			more += ", Most: " + camel("limit_"+p.Most)
		}
		lists += fmt.Sprintf("{At: %d, N: %d, List: %s, Access: %s%s},", at, f.Entries(at), camel("list_"+string(p.List)), accesses[p.Access], more)
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
		b.WriteString(", Fills: " + camel("buffer_"+f.Fills))
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
