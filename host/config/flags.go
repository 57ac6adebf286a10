// SPDX-License-Identifier: MIT

package config

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/pflag"
)

// AddFlags defines a flag for every key that has one. Their defaults are empty, so that only given
// flags count; the key's default stands in the usage line.
func AddFlags(fs *pflag.FlagSet) {
	for _, k := range table {
		if k.Flag == "" {
			continue
		}
		usage := k.Help
		if text := show(k.Default); text != "" {
			usage += " (default " + text + ")"
		}
		if k.Kind == List {
			fs.StringArray(k.Flag, nil, usage)
			continue
		}
		if k.Once {
			fs.Var(&once{}, k.Flag, usage)
			continue
		}
		fs.String(k.Flag, "", usage)
		if k.Kind == Switch {
			fs.Lookup(k.Flag).NoOptDefVal = "true"
		}
	}
}

// FlagValues returns the flags that were given, by key name.
func FlagValues(fs *pflag.FlagSet) map[string]any {
	given := map[string]any{}
	for _, k := range table {
		f := fs.Lookup(k.Flag)
		if k.Flag == "" || f == nil || !f.Changed {
			continue
		}
		if list, ok := f.Value.(pflag.SliceValue); ok {
			given[k.Name] = strings.Join(list.GetSlice(), ",") // each may be a list itself, as with llama-server
			continue
		}
		text := f.Value.String()
		given[k.Name] = k.unspell(text)
	}
	return given
}

// unspell turns a flag's value as llama-server spells it into the key's own.
func (k Key) unspell(text string) string {
	if word, ok := k.Words[text]; ok {
		text = word
	}
	n, err := strconv.ParseUint(text, 10, 64)
	switch {
	case err != nil:
		return text
	case len(k.Numbered) > 0:
		return k.Numbered[min(n, uint64(len(k.Numbered)-1))]
	}
	return text + k.Unit
}

// once is a flag that may be given again with the same value only.
type once struct {
	text  string
	given bool
}

func (o *once) String() string { return o.text }
func (o *once) Type() string   { return "string" }

func (o *once) Set(text string) error {
	if o.given && text != o.text {
		return fmt.Errorf("it was %q before, and only one can be served", o.text)
	}
	o.text, o.given = text, true
	return nil
}
