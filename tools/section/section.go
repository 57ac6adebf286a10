// SPDX-License-Identifier: MIT

// Package section replaces what a program has written into a document: the lines between two
// others, which stay.
package section

import (
	"fmt"
	"os"
	"strings"
)

// Section is a part of a document.
type Section struct {
	Begin, End string // the lines before and after it, each with its newline
}

// Of is the section that a command writes, "make bench-peer" for example. Where it writes several,
// they have names; else name is empty.
func Of(command, name string) Section {
	if name != "" {
		name = ": " + name
	}
	return Section{"<!-- " + command + " writes what follows" + name + " -->\n", "<!-- " + command + " wrote what precedes" + name + " -->\n"}
}

// Replace writes a text into the section of a file; "": there is no file, and nothing is written.
// The file is replaced as a whole: whoever reads it sees the old one or the new one. The error of a
// file without the section has the lines that it lacks.
func (s Section) Replace(path, text string) error {
	if path == "" {
		return nil
	}
	old, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	before, rest, begins := strings.Cut(string(old), s.Begin)
	_, after, ends := strings.Cut(rest, s.End)
	if !begins || !ends {
		return fmt.Errorf("%s has no section: it needs a line %q, and after it a line %q", path, strings.TrimSpace(s.Begin), strings.TrimSpace(s.End))
	}
	part := path + ".part"
	if err := os.WriteFile(part, []byte(before+s.Begin+text+s.End+after), 0o644); err != nil {
		return err
	}
	return os.Rename(part, path)
}
