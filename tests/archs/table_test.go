// SPDX-License-Identifier: MIT

package archs

import (
	"flag"
	"fmt"
	"slices"
	"strings"

	"github.com/penstock/penstock/host/engine"
	"github.com/penstock/penstock/host/model"
	"github.com/penstock/penstock/native/gguf"
)

var document = flag.String("document", "", "file into which TestArchitectures_All writes its table")

// row is what is known of an architecture.
type row struct {
	name, kind string
	refused    string // why; empty: it is served
	lacks      model.Lacks
	note       string
	peer       tally // answers alone, against llama-server's
	own        tally // answers in the situations, against those alone
}

// known is the part of a row that is the same on each machine.
func (r row) known() string {
	if r.refused != "" {
		return fmt.Sprintf("| %s | %s | refused |", r.name, r.kind)
	}
	served := "served"
	if all := r.without(); len(all) > 0 {
		served += " without " + strings.Join(all, ", ")
	}
	if r.note != "" {
		served += "; " + r.note
	}
	return fmt.Sprintf("| %s | %s | %s |", r.name, r.kind, served)
}

func (r row) String() string {
	if r.refused != "" {
		return r.known() + " – | – |"
	}
	return fmt.Sprintf("%s %s | %s |", r.known(), r.peer, r.own)
}

// without names what llama.cpp cannot do with the model.
func (r row) without() (all []string) {
	for _, l := range r.lacks {
		all = append(all, l.What)
	}
	return all
}

// kindOf says what a model is.
func kindOf(h *gguf.Header, info engine.Info) string {
	kind := "dense"
	if experts, ok := h.Values[h.Architecture()+".expert_count"]; ok && experts.Int(0) > 0 {
		kind = "experts"
	}
	switch {
	case info.Recurrent:
		kind += ", recurrent"
	case info.Hybrid:
		kind += ", hybrid"
	}
	if info.Window > 0 {
		kind += ", window"
	}
	return kind
}

// table is the document's section.
func table(rows []row, unwritten []string) string {
	slices.SortFunc(rows, func(a, b row) int { return strings.Compare(a.known(), b.known()) })
	var text strings.Builder
	text.WriteString("| architecture | kind | result | same as llama-server | same in all situations |\n|---|---|---|---|---|\n")
	served := 0
	var peer, own tally
	for _, r := range rows {
		text.WriteString(r.String() + "\n")
		if r.refused == "" {
			served++
		}
		peer.add(r.peer)
		own.add(r.own)
	}
	fmt.Fprintf(&text, "| **%d models** | | %d served, %d refused | %s | %s |\n", len(rows), served, len(rows)-served, peer, own)
	text.WriteString("\nWhat llama.cpp reports about what it cannot do, other than truncating a state:\n\n")
	for _, r := range rows {
		for _, l := range r.lacks {
			if l.What != model.Truncating {
				fmt.Fprintf(&text, "* %s, %s: `%s`\n", r.name, l.What, l.Why)
			}
		}
	}
	fmt.Fprintf(&text, "\nNot compared, because llama.cpp's program writes no model of them: %s.\n", strings.Join(unwritten, ", "))
	return text.String()
}
