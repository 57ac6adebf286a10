// SPDX-License-Identifier: MIT

package main

import (
	"bytes"
	"fmt"
	"path/filepath"
)

// The house's limits, in lines.
const (
	maxFile     = 800
	maxFunction = 80
)

// function is where a function stands in its file, in lines from 1, both ends included.
type function struct {
	name        string
	first, last int
}

func (f function) lines() int { return f.last - f.first + 1 }

func checkSize(f file) ([]string, error) {
	if !f.isSource() {
		return nil, nil
	}
	var findings []string
	if lines := bytes.Count(f.text, []byte("\n")); lines > maxFile {
		findings = append(findings, fmt.Sprintf("%s has %d lines, more than %d", f.path, lines, maxFile))
	}
	find := languages[filepath.Ext(f.path)]
	if find == nil {
		return findings, nil
	}
	functions, err := find(f)
	if err != nil {
		return nil, err
	}
	for _, fn := range functions {
		if fn.lines() > maxFunction {
			findings = append(findings, fmt.Sprintf("%s:%d: %s has %d lines, more than %d", f.path, fn.first, fn.name, fn.lines(), maxFunction))
		}
	}
	return findings, nil
}
