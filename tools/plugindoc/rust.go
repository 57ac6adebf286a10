// SPDX-License-Identifier: MIT

package main

import (
	"io/fs"
	"path"
	"regexp"
	"strings"
)

// notCalled are public modules that a plugin has no use for, or only in its tests.
var notCalled = regexp.MustCompile(`^(?:abi\.gen|glue|testing/.*)$`)

// readRust reads the Rust SDK's modules.
func readRust(sources fs.FS) (items []item, err error) {
	public := map[string]bool{"lib": true}
	err = fs.WalkDir(sources, ".", func(name string, _ fs.DirEntry, err error) error {
		source, isRust := strings.CutSuffix(name, ".rs")
		if err != nil || !isRust || notCalled.MatchString(source) {
			return err
		}
		text, err := fs.ReadFile(sources, name)
		if err != nil {
			return err
		}
		f := rustFile{source: source, items: &items}
		f.read(strings.Split(string(text), "\n"), public)
		return nil
	})
	for i := range items {
		module, _, _ := strings.Cut(items[i].source, "/")
		items[i].hidden = items[i].hidden || !public[module] && !public[items[i].source+"#"+items[i].owner]
	}
	return items, err
}

// rustFile reads one file, which rustfmt has laid out.
type rustFile struct {
	source    string
	items     *[]item
	container string // the type whose block a line is in
	trait     bool   // and the block is a trait's
	comment   []string
	hidden    bool
	exported  bool // a macro
}

var (
	rustUse   = regexp.MustCompile(`^pub use (\w+)::\{?([\w, ]+)\}?;`)
	rustMod   = regexp.MustCompile(`^pub mod (\w+);`)
	rustBlock = regexp.MustCompile(`^(?:impl(?:<[^>]*>)?|pub (trait|struct|enum)) (\w+)(?:<[^>]*>)?(?:: [^{]*)? \{$`)
	rustItem  = regexp.MustCompile(`^(?:    )?(pub(?:\(crate\))? )?(?:unsafe |const )*(fn|struct|enum|type|const|trait) (\w+)`)
	rustField = regexp.MustCompile(`^    pub (\w+): (.*),$`)
	rustValue = regexp.MustCompile(`^    ([A-Z]\w*)(\(.*\))?(?: = .*)?(?:,| \{)$`)
	rustMacro = regexp.MustCompile(`^macro_rules! (\w+) \{$`)
)

// tidy puts a signature of several lines on one, without what is of no concern to callers.
var tidy = strings.NewReplacer("( mut ", "(", "( ", "(", ", )", ")", ", mut ", ", ")

// read adds the file's items; of its tests none.
func (f *rustFile) read(lines []string, public map[string]bool) {
	for at := 0; at < len(lines) && lines[at] != "#[cfg(test)]"; at++ {
		line := lines[at]
		text := strings.TrimSpace(line)
		switch {
		case strings.HasPrefix(text, "///"):
			f.comment = append(f.comment, strings.TrimPrefix(text[3:], " "))
			continue
		case strings.HasPrefix(text, "#["):
			f.exported = f.exported || text == "#[macro_export]"
			f.hidden = f.hidden || strings.Contains(text, "not(target_arch") || strings.Contains(text, "doc(hidden)")
			continue
		case line == "}":
			f.container, f.trait = "", false
		}
		if match := rustUse.FindStringSubmatch(line); match != nil {
			for name := range strings.SplitSeq(match[2], ", ") {
				public[path.Join(path.Dir(f.source), match[1])+"#"+name] = true
			}
		} else if match := rustMod.FindStringSubmatch(line); match != nil && !f.hidden {
			public[match[1]] = true
		}
		f.line(lines[at:])
		if block := rustBlock.FindStringSubmatch(line); block != nil {
			f.container, f.trait = block[2], block[1] == "trait"
		}
		f.comment, f.hidden, f.exported = nil, false, false
	}
}

// line adds the item that begins in the first of these lines, if one does.
func (f *rustFile) line(lines []string) {
	i := item{source: f.source, owner: f.container, comment: strings.Join(f.comment, "\n"), hidden: f.hidden, self: "self"}
	name := ""
	if match := rustMacro.FindStringSubmatch(lines[0]); match != nil && f.exported {
		name, i.signature = match[1]+"!", match[1]+"!(…)"
	} else if match := rustItem.FindStringSubmatch(lines[0]); match != nil {
		name = match[3]
		i.called = f.trait && f.container == "Plugin"
		i.hidden = i.hidden || match[1] != "pub " && !f.trait
		i.signature, i.body = rustParts(lines, match[2], name)
	} else if match := rustField.FindStringSubmatch(lines[0]); match != nil {
		name, i.signature, i.value = match[1], match[1]+": "+match[2], true
	} else if match := rustValue.FindStringSubmatch(lines[0]); match != nil && f.container != "" {
		name, i.signature, i.value = match[1], match[1]+match[2], true
	} else {
		return
	}
	if i.name = name; f.container == "" {
		i.owner = name
	} else {
		i.name = f.container + "." + name
		i.signature = f.container + "::" + i.signature
	}
	if i.called {
		i.signature = strings.TrimPrefix(i.signature, "Plugin::")
	} else if module, _, _ := strings.Cut(f.source, "/"); module == "host" || module == "grammar" || module == "math" || module == "json" {
		i.signature = strings.Replace(module+"::"+i.signature, module+"::type ", "type "+module+"::", 1)
	}
	*f.items = append(*f.items, i)
}

// rustParts are the signature of an item and, of a function, its body.
func rustParts(lines []string, kind, name string) (signature, body string) {
	if kind == "struct" || kind == "enum" || kind == "trait" || kind == "type" {
		return "type " + name, ""
	}
	indent := lines[0][:len(lines[0])-len(strings.TrimLeft(lines[0], " "))]
	all, _, _ := strings.Cut(strings.Join(lines, "\n"), "\n"+indent+"}\n")
	_, rest, _ := strings.Cut(" "+all, " "+kind+" ")
	if kind == "const" {
		rest, _, _ = strings.Cut(rest, " = ")
		rest, _, _ = strings.Cut(rest, ";")
		return rest, ""
	}
	if end := strings.IndexAny(rest, "{;"); end >= 0 {
		rest, body = rest[:end], rest[end:]
	}
	return tidy.Replace(strings.Join(strings.Fields(rest), " ")), body
}
