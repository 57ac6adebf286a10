// SPDX-License-Identifier: MIT

package main

import (
	"fmt"
	"os"
	"strings"
)

// replaceSection puts a table between its two lines of a document.
func replaceSection(path, name, text string) error {
	begin := fmt.Sprintf("<!-- make simulate writes what follows: %s -->\n", name)
	end := fmt.Sprintf("<!-- make simulate wrote what precedes: %s -->\n", name)
	old, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	before, rest, begins := strings.Cut(string(old), begin)
	_, after, ends := strings.Cut(rest, end)
	if !begins || !ends {
		return fmt.Errorf("%s has no place for the table: it needs a line %q, and after it a line %q", path, strings.TrimSpace(begin), strings.TrimSpace(end))
	}
	part := path + ".part"
	if err := os.WriteFile(part, []byte(before+begin+"\n"+text+"\n"+end+after), 0o644); err != nil {
		return err
	}
	return os.Rename(part, path)
}
