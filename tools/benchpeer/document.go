// SPDX-License-Identifier: MIT

package main

import (
	"os"

	"github.com/penstock/penstock/tools/section"
)

// output names the files that a whole run writes besides its figures; an empty name means none.
type output struct{ document, readme, chart string }

func (o output) write(r report) error {
	if o.document != "" {
		if err := ours.Replace(o.document, "\n"+r.markdown()+"\n"); err != nil {
			return err
		}
	}
	if o.readme != "" {
		if err := ours.Replace(o.readme, "\n"+r.sentence()+"\n"); err != nil {
			return err
		}
	}
	if o.chart != "" {
		return os.WriteFile(o.chart, []byte(r.chart()), 0o644)
	}
	return nil
}

// ours is what a run writes into a document.
var ours = section.Of("make bench-peer", "")
