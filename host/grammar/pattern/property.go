// SPDX-License-Identifier: MIT

package pattern

import (
	"slices"
	"strings"
	"sync"
	"unicode"

	"github.com/penstock/penstock/host/excerpt"
	"github.com/penstock/penstock/host/grammar/lexeme"
)

// spaces are the separators that \s has.
var spaces = unicode.Zs

// property reads {name} or {name=value} after \p or \P.
func (p *parser) property(at int, not bool) ([]lexeme.Range, error) {
	end := -1
	if p.take("{") {
		end = strings.IndexByte(p.source[p.at:], '}')
	}
	if end < 1 {
		return nil, &Error{at, `\p wants the name of a property in braces`}
	}
	name := p.source[p.at : p.at+end]
	p.at += end + 1
	ranges, known := property(propertySet{name, not, not && p.flags.fold})
	if !known {
		return nil, &Error{at, "the property " + excerpt.Of(name, 60) + " is not supported"}
	}
	return ranges, nil
}

// categoryNames are the long names of the general categories.
var categoryNames = map[string]string{
	"Letter": "L", "Cased_Letter": "LC", "Uppercase_Letter": "Lu", "Lowercase_Letter": "Ll", "Titlecase_Letter": "Lt", "Modifier_Letter": "Lm", "Other_Letter": "Lo",
	"Mark": "M", "Combining_Mark": "M", "Nonspacing_Mark": "Mn", "Spacing_Mark": "Mc", "Enclosing_Mark": "Me",
	"Number": "N", "Decimal_Number": "Nd", "digit": "Nd", "Letter_Number": "Nl", "Other_Number": "No",
	"Punctuation": "P", "punct": "P", "Connector_Punctuation": "Pc", "Dash_Punctuation": "Pd", "Open_Punctuation": "Ps", "Close_Punctuation": "Pe",
	"Initial_Punctuation": "Pi", "Final_Punctuation": "Pf", "Other_Punctuation": "Po",
	"Symbol": "S", "Math_Symbol": "Sm", "Currency_Symbol": "Sc", "Modifier_Symbol": "Sk", "Other_Symbol": "So",
	"Separator": "Z", "Space_Separator": "Zs", "Line_Separator": "Zl", "Paragraph_Separator": "Zp",
	"Other": "C", "Control": "Cc", "cntrl": "Cc", "Format": "Cf", "Surrogate": "Cs", "Private_Use": "Co", "Unassigned": "Cn",
}

// derivedProperties are made of other properties.
var derivedProperties = map[string][]*unicode.RangeTable{
	"Alphabetic": {unicode.Lu, unicode.Ll, unicode.Lt, unicode.Lm, unicode.Lo, unicode.Nl, unicode.Other_Alphabetic},
	"Uppercase":  {unicode.Lu, unicode.Other_Uppercase},
	"Lowercase":  {unicode.Ll, unicode.Other_Lowercase},
	"Math":       {unicode.Sm, unicode.Other_Math},
}

// shortProperties are other names of binary properties.
var shortProperties = map[string]string{"Alpha": "Alphabetic", "Upper": "Uppercase", "Lower": "Lowercase", "space": "White_Space", "AHex": "ASCII_Hex_Digit", "Hex": "Hex_Digit"}

// propertySet is the characters that have a property, or lack it. With fold, characters that differ
// only in case from one that has it have it too.
type propertySet struct {
	name        string
	not, folded bool
}

// properties keeps the characters of sets.
var properties sync.Map

// property returns the characters of a set, which must not change.
func property(s propertySet) ([]lexeme.Range, bool) {
	if kept, ok := properties.Load(s); ok {
		return kept.([]lexeme.Range), true
	}
	ranges, known := propertyRanges(s.name)
	if !known {
		return nil, false
	}
	if s.folded {
		ranges, _ = foldCase(ranges)
	}
	if s.not {
		ranges = lexeme.Complement(ranges)
	}
	kept, _ := properties.LoadOrStore(s, ranges)
	return kept.([]lexeme.Range), true
}

func propertyRanges(name string) ([]lexeme.Range, bool) {
	key, value, pair := strings.Cut(name, "=")
	if pair {
		switch key {
		case "General_Category", "gc":
			return categoryRanges(value)
		case "Script", "sc":
			table, known := unicode.Scripts[value]
			return tableRanges(table), known
		}
		return nil, false
	}
	if ranges, known := categoryRanges(name); known {
		return ranges, true
	}
	if long, known := shortProperties[name]; known {
		name = long
	}
	switch name {
	case "Any":
		return lexeme.Complement(nil), true
	case "ASCII":
		return []lexeme.Range{{Low: 0, High: 0x7F}}, true
	case "Assigned":
		ranges, _ := categoryRanges("Cn")
		return lexeme.Complement(ranges), true
	}
	if tables, known := derivedProperties[name]; known {
		return tableRanges(tables...), true
	}
	if table, known := unicode.Properties[name]; known && !strings.HasPrefix(name, "Other_") {
		return tableRanges(table), true
	}
	table, known := unicode.Scripts[name] // not in the standard, but it can mean nothing else
	return tableRanges(table), known
}

func categoryRanges(name string) ([]lexeme.Range, bool) {
	if short, known := categoryNames[name]; known {
		name = short
	}
	switch name {
	case "LC":
		return tableRanges(unicode.Lu, unicode.Ll, unicode.Lt), true
	case "C":
		return lexeme.Complement(tableRanges(unicode.L, unicode.M, unicode.N, unicode.P, unicode.S, unicode.Z)), true
	case "Cn":
		return lexeme.Complement(tableRanges(unicode.L, unicode.M, unicode.N, unicode.P, unicode.S, unicode.Z, unicode.Cc, unicode.Cf, unicode.Co)), true
	}
	table, known := unicode.Categories[name]
	return tableRanges(table), known
}

// tableRanges returns the characters of Go's tables.
func tableRanges(tables ...*unicode.RangeTable) []lexeme.Range {
	var all []lexeme.Range
	for _, t := range tables {
		if t == nil {
			continue
		}
		for _, r := range t.R16 {
			all = appendStrided(all, rune(r.Lo), rune(r.Hi), rune(r.Stride))
		}
		for _, r := range t.R32 {
			all = appendStrided(all, rune(r.Lo), rune(r.Hi), rune(r.Stride))
		}
	}
	return lexeme.Normal(all)
}

func appendStrided(all []lexeme.Range, low, high, stride rune) []lexeme.Range {
	if stride == 1 {
		return append(all, lexeme.Range{Low: low, High: high})
	}
	for r := low; r <= high; r += stride {
		all = append(all, lexeme.Range{Low: r, High: r})
	}
	return all
}

// casing is a character, and the others that differ from it only in case.
type casing struct {
	is     rune
	others []lexeme.Range
}

// casings are all characters that have another case, in order.
var casings = sync.OnceValue(func() []casing {
	var all []casing
	for _, c := range unicode.CaseRanges {
		for r := rune(c.Lo); r <= rune(c.Hi); r++ {
			var others []lexeme.Range
			for other := unicode.SimpleFold(r); other != r; other = unicode.SimpleFold(other) {
				others = append(others, lexeme.Range{Low: other, High: other})
			}
			if others != nil {
				all = append(all, casing{r, others})
			}
		}
	}
	slices.SortFunc(all, func(x, y casing) int { return int(x.is - y.is) })
	return all
})

// foldCase adds the characters that differ from those of some ranges only in case, by Unicode's
// simple case folding. looked is how many it visited.
func foldCase(ranges []lexeme.Range) (_ []lexeme.Range, looked int) {
	ranges = lexeme.Normal(ranges)
	all := slices.Clone(ranges)
	for _, r := range ranges {
		i, _ := slices.BinarySearchFunc(casings(), r.Low, func(c casing, low rune) int { return int(c.is - low) })
		for _, c := range casings()[i:] {
			if looked++; c.is > r.High {
				break
			}
			for _, other := range c.others {
				if other.Low < r.Low || other.Low > r.High {
					all = append(all, other)
				}
			}
		}
	}
	return lexeme.Normal(all), looked
}
