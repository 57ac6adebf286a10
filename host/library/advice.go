// SPDX-License-Identifier: MIT

package library

import (
	"slices"
	"strings"

	"github.com/penstock/penstock/host/spelling"
)

// Advice says which of a folder's names a wrong one may have meant, or which there are. The wrong
// name itself may be among them, as where a part of its model is missing; it is no advice.
func Advice(wrong string, names []string) string {
	const most = 10
	names = slices.DeleteFunc(slices.Clone(names), func(n string) bool { return n == wrong })
	if len(names) == 0 {
		return "that folder holds no .gguf file yet: put one there, fetch one with penstock model pull, or give its path"
	}
	if like := near(wrong, names); len(like) > 0 {
		return "did you mean " + strings.Join(like[:min(most, len(like))], " or ") + "?"
	}
	if len(names) > most {
		names = append(names[:most:most], "...")
	}
	return "it holds " + strings.Join(names, ", ")
}

// near returns the names most like a wrong one: those that contain it, lie in it or differ in few
// letters.
func near(name string, names []string) []string {
	wanted := strings.ToLower(name)
	if wanted == "" {
		return nil
	}
	var out []string
	for _, n := range names {
		lower := strings.ToLower(n)
		if strings.Contains(lower, wanted) || strings.Contains(wanted, lower) || spelling.Distance(wanted, lower) <= 1+len(wanted)/4 {
			out = append(out, n)
		}
	}
	return out
}
