// SPDX-License-Identifier: MIT

// Command regex-stop is a plugin: it ends the answer where a regular expression matches its text.
package main

import (
	"unicode/utf8"

	"github.com/penstock/penstock/plugins/examples/internal/pattern"
	"github.com/penstock/penstock/plugins/sdk/go/penstock"
)

var _ = penstock.Register[regexStop](penstock.Manifest{
	Name:    "regex-stop",
	Version: "1.0.0",
	Summary: "ends the answer where a regular expression matches",
	ConfigSchema: `{
		"type": "object",
		"additionalProperties": false,
		"required": ["pattern"],
		"properties": {
			"pattern": {"type": "string", "minLength": 1, "maxLength": 1000, "description": "in Go's syntax (RE2)"},
			"show": {"type": "boolean", "default": false, "description": "show the text that matched too"}
		}
	}`,
})

func main() {}

// patience is how many bytes are held back at most for a match that does not end. The host allows
// 4,096, and what comes at a time is added to it before this is looked at.
const patience = 3000

// regexStop is the plugin in one request.
type regexStop struct {
	matcher *pattern.Matcher
	show    bool
	shown   int // bytes of the answer up to the last Show
	size    int // bytes of the answer
}

// Open implements penstock.Opener.
func (r *regexStop) Open(q *penstock.Request) (err error) {
	r.show = q.Config.Get("show").Bool()
	r.matcher, err = pattern.Compile(q.Config.Get("pattern").Text())
	return err
}

// Stop implements penstock.Stopper. Text is held back as long as it may be the beginning of a
// match.
func (r *regexStop) Stop(_ penstock.Token, text []byte) penstock.Verdict {
	for len(text) > 0 {
		c, size := utf8.DecodeRune(text)
		text = text[size:]
		from, to, ok := r.matcher.Step(c, r.size, r.size+size)
		r.size += size
		if !ok {
			continue
		}
		if r.show {
			return penstock.EndAfter(to - r.shown)
		}
		return penstock.EndAfter(max(0, from-r.shown))
	}
	if !r.show && r.matcher.Pending() && r.size-r.shown < patience {
		return penstock.Hold
	}
	r.shown = r.size
	return penstock.Show
}
