// SPDX-License-Identifier: MIT

package completion

import (
	"encoding/json"
	"fmt"
	"regexp/syntax"
	"slices"
	"unicode/utf8"

	"github.com/penstock/penstock/host/excerpt"
	"github.com/penstock/penstock/host/refusal"
	"github.com/penstock/penstock/host/serving"
)

// readyFields are fields of other servers' APIs, which plugins of the ready-made set carry out:
// such a field is one more entry of plugins.
type readyFields struct {
	BannedStrings       json.RawMessage `json:"banned_strings"`                // of TabbyAPI and ik_llama.cpp
	BannedRegex         json.RawMessage `json:"banned_regex"`                  // of ik_llama.cpp
	BannedRegexAnyCase  json.RawMessage `json:"banned_regex_case_insensitive"` // the same
	RepetitionDetection json.RawMessage `json:"repetition_detection"`          // of vLLM
}

// The bounds of banned strings, as the plugin's schema has them.
const (
	maxBanned      = 1000
	maxBannedSize  = 200 // characters
	maxPatterns    = 100
	maxPatternSize = 1000
)

// add adds the plugins that the fields ask for to those that a request lists.
func (f *readyFields) add(uses []serving.PluginUse) ([]serving.PluginUse, error) {
	for _, read := range []func() (serving.PluginUse, error){f.banned, f.repetition} {
		use, err := read()
		if err != nil {
			return nil, err
		}
		if use.Name == "" {
			continue
		}
		if i := slices.IndexFunc(uses, func(u serving.PluginUse) bool { return u.Name == use.Name }); i >= 0 {
			return nil, refusal.Invalid(use.Field, "%s switches plugin %q on, which %s has too: put what it says into that entry's config, and leave the field out", use.Field, use.Name, uses[i].Field)
		}
		uses = append(uses, use)
	}
	return uses, nil
}

// banned is the use of the plugin that bans texts and patterns; without a name: none is asked for.
func (f *readyFields) banned() (use serving.PluginUse, err error) {
	phrases, err := readTexts(f.BannedStrings, "banned_strings", maxBanned, maxBannedSize)
	if err != nil {
		return use, err
	}
	exact, err := readPatterns(f.BannedRegex, "banned_regex", "")
	if err != nil {
		return use, err
	}
	folding, err := readPatterns(f.BannedRegexAnyCase, "banned_regex_case_insensitive", "(?i)")
	if err != nil {
		return use, err
	}
	switch {
	case len(phrases) > 0:
		use.Field = "banned_strings"
	case len(exact) > 0:
		use.Field = "banned_regex"
	case len(folding) > 0:
		use.Field = "banned_regex_case_insensitive"
	default:
		return use, nil
	}
	use.Name, use.Ready = "banned-phrases", true
	use.Config, err = json.Marshal(struct {
		Patterns []string `json:"patterns,omitempty"`
		Phrases  []string `json:"phrases,omitempty"`
	}{append(exact, folding...), phrases})
	return use, err
}

// readTexts reads a text, or a list of texts.
func readTexts(raw json.RawMessage, field string, most, size int) (list []string, err error) {
	if !IsSet(raw) {
		return nil, nil
	}
	var one string
	if json.Unmarshal(raw, &one) == nil {
		list = []string{one}
	} else if json.Unmarshal(raw, &list) != nil {
		return nil, refusal.Invalid(field, "%s must be a text or a list of texts", field)
	}
	list = slices.DeleteFunc(list, func(text string) bool { return text == "" }) // clients leave lines empty
	if len(list) > most {
		return nil, refusal.Invalid(field, "%s has %d texts; at most %d are allowed", field, len(list), most)
	}
	for i, text := range list {
		if n := utf8.RuneCountInString(text); n > size {
			return nil, refusal.Invalid(field, "%s has a text of %d characters, number %d; at most %d are allowed", field, n, i+1, size)
		}
	}
	return list, nil
}

// readPatterns reads regular expressions, and puts flags before each.
func readPatterns(raw json.RawMessage, field, flags string) ([]string, error) {
	list, err := readTexts(raw, field, maxPatterns/2, maxPatternSize-len("(?i)"))
	for i, p := range list {
		if _, err := syntax.Parse(p, syntax.Perl); err != nil {
			return nil, refusal.Invalid(field, "%s has %q: %v; its syntax is that of Go and RE2", field, excerpt.Of(p, 80), err)
		}
		list[i] = flags + p
	}
	return list, err
}

// repetition is the use of the plugin that ends loops; without a name: none is asked for.
func (f *readyFields) repetition() (use serving.PluginUse, err error) {
	const field = "repetition_detection"
	if !IsSet(f.RepetitionDetection) {
		return use, nil
	}
	var p struct {
		Most  int `json:"max_pattern_size"`
		Least int `json:"min_pattern_size"`
		Count int `json:"min_count"`
	}
	if json.Unmarshal(f.RepetitionDetection, &p) != nil {
		return use, refusal.Invalid(field, "%s must be an object with max_pattern_size, min_pattern_size and min_count, which are integers", field)
	}
	switch p.Least = max(p.Least, 1); {
	case p.Most == 0: // as with vLLM
		return use, nil
	case p.Most < p.Least || p.Most > maxLoop:
		return use, refusal.Invalid(field+".max_pattern_size", "%s.max_pattern_size is %d; it must be 0 (no detection), or from min_pattern_size, which is %d, to %d", field, p.Most, p.Least, maxLoop)
	case p.Count < 2 || p.Count > maxLoops/p.Most:
		return use, refusal.Invalid(field+".min_count", "%s.min_count is %d; it must be from 2 to %d, so that it and max_pattern_size make at most %d tokens", field, p.Count, maxLoops/p.Most, maxLoops)
	}
	config := fmt.Sprintf(`{"max_pattern_size":%d,"min_pattern_size":%d,"min_count":%d}`, p.Most, p.Least, p.Count)
	return serving.PluginUse{Name: "repetition-stop", Field: field, Ready: true, Config: json.RawMessage(config)}, nil
}

// The bounds of detected loops, as the plugin's schema has them.
const (
	maxLoop  = 512  // tokens of one time
	maxLoops = 4096 // of all times
)
