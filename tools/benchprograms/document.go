// SPDX-License-Identifier: MIT

package main

import (
	"fmt"
	"os"
	"strings"
)

// What a run writes stands between these two lines of a document.
const (
	sectionBegin = "<!-- make bench-programs writes what follows -->\n"
	sectionEnd   = "<!-- make bench-programs wrote what precedes -->\n"
)

// replaceSection puts text between the markers of the file.
func replaceSection(path, text string) error {
	old, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	before, rest, begins := strings.Cut(string(old), sectionBegin)
	_, after, ends := strings.Cut(rest, sectionEnd)
	if !begins || !ends {
		return fmt.Errorf("%s has no section: it needs a line %q, and after it a line %q", path, strings.TrimSpace(sectionBegin), strings.TrimSpace(sectionEnd))
	}
	return os.WriteFile(path, []byte(before+sectionBegin+"\n"+text+"\n"+sectionEnd+after), 0o644)
}
