// SPDX-License-Identifier: MIT

package fit

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/penstock/penstock/host/model"
)

// fits reports whether a need leaves the margins free.
func (r Room) fits(need model.Need) bool {
	return r.leaves(need, cmp.Or(r.Margin, r.Main/10), cmp.Or(r.Margin, gpuMargin))
}

// holds reports whether there is so much memory at all.
func (r Room) holds(need model.Need) bool { return r.leaves(need, 0, 0) }

// leaves reports whether a need leaves so many bytes free, in main memory and on each GPU. A GPU
// that does not say what it has free is not looked at.
func (r Room) leaves(need model.Need, main, gpu uint64) bool {
	if r.Main > 0 && need.Main().Used()+main > r.Main {
		return false
	}
	for _, d := range need.GPUs() {
		if !r.AnyGPU && d.Total > 0 && d.Used() > 0 && d.Used()+gpu > d.Free {
			return false
		}
	}
	return true
}

// text names what is available.
func (r Room) text(need model.Need) string {
	var list []string
	for _, d := range need.GPUs() {
		list = append(list, fmt.Sprintf("%s on %s", Size(d.Free), d.Name))
	}
	if r.Main > 0 {
		list = append(list, Size(r.Main))
	}
	return strings.Join(list, " and ")
}

// account says what a plan takes and what of, in one phrase.
func (p Plan) account(r Room) string {
	main := p.Need.Main()
	parts := []string{part("weights", main.Plain+main.Weights), part("KV cache", main.Cells), part("computing", main.Compute)}
	text := fmt.Sprintf("%s (%s)", Size(main.Used()), strings.Join(parts, ", "))
	for _, d := range p.Need.GPUs() {
		parts := []string{part("weights", d.Plain+d.Weights), part("KV cache", d.Cells), part("computing", d.Compute)}
		text += fmt.Sprintf(" and %s on %s (%s)", Size(d.Used()), d.Name, strings.Join(parts, ", "))
	}
	if available := r.text(p.Need); available != "" {
		text += " of " + available
	}
	return text
}

func part(name string, bytes uint64) string { return name + " " + Size(bytes) }

// weights are those on all devices.
func weights(need model.Need) (bytes uint64) {
	for _, d := range need {
		bytes += d.Plain + d.Weights
	}
	return bytes
}

// Size writes bytes for people.
func Size(bytes uint64) string {
	if bytes < 1<<30 {
		return fmt.Sprintf("%.1f MiB", float64(bytes)/(1<<20))
	}
	return fmt.Sprintf("%.1f GiB", float64(bytes)/(1<<30))
}
