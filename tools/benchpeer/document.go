// SPDX-License-Identifier: MIT

package main

import (
	"fmt"
	"os"
	"strings"
)

// output names the files that a whole run writes besides its figures; an empty name means none.
type output struct{ document, readme, chart string }

func (o output) write(r report) error {
	if o.document != "" {
		if err := replaceSection(o.document, r.markdown()); err != nil {
			return err
		}
	}
	if o.readme != "" {
		if err := replaceSection(o.readme, r.sentence()); err != nil {
			return err
		}
	}
	if o.chart != "" {
		return os.WriteFile(o.chart, []byte(r.chart()), 0o644)
	}
	return nil
}

// What a run writes stands between these two lines of a document.
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
