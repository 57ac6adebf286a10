// SPDX-License-Identifier: MIT

package main

import (
	"fmt"
	"os"
	"strings"
)

// The table stands between these two lines of a document.
const (
	sectionBegin = "<!-- make bench-peer writes what follows -->\n"
	sectionEnd   = "<!-- make bench-peer wrote what precedes -->\n"
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
	whole := before + sectionBegin + "\n" + text + "\n" + sectionEnd + after
	part := path + ".part"
	if err := os.WriteFile(part, []byte(whole), 0o644); err != nil {
		return err
	}
	return os.Rename(part, path)
}
