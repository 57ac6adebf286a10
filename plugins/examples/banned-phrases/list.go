// SPDX-License-Identifier: MIT

package main

import (
	"fmt"
	"strings"

	"github.com/penstock/penstock/plugins/examples/internal/pattern"
	"github.com/penstock/penstock/plugins/sdk/go/json"
)

// readBans reads what must not appear.
func readBans(config json.Value) (p phrases, m *pattern.Matcher, err error) {
	p.fold, p.whole = config.Get("ignore_case").Bool(), config.Get("whole_words").Bool()
	var patterns []string
	add := func(field, source string) error {
		if _, err := pattern.Compile(source); err != nil {
			return fmt.Errorf("config.%s has %q: %w", field, source, err)
		}
		patterns = append(patterns, source)
		return nil
	}
	list := config.Get("phrases")
	for i := range list.Len() {
		p.add(list.At(i).Text())
	}
	list = config.Get("patterns")
	for i := range list.Len() {
		if err := add("patterns", list.At(i).Text()); err != nil {
			return p, nil, err
		}
	}
	text := config.Get("list").Text()
	if config.Get("slop").Bool() {
		text += "\n" + slop
	}
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		switch n := len(line) - 1; {
		case n < 0 || line[0] == '#':
		case n > 1 && line[0] == '/' && line[n] == '/':
			if err := add("list", line[1:n]); err != nil {
				return p, nil, err
			}
		case n > 1 && line[0] == '"' && line[n] == '"': // as SillyTavern writes them
			p.add(line[1:n])
		default:
			p.add(line)
		}
	}
	if len(patterns) > 0 {
		if m, err = pattern.Compile(patterns...); err != nil {
			err = fmt.Errorf("config.patterns: %w", err)
		}
	}
	return p, m, err
}
