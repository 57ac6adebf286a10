// SPDX-License-Identifier: MIT

package gbnf

import (
	"errors"
	"fmt"
	"strconv"

	"github.com/penstock/penstock/host/grammar/lexeme"
)

func (p *parser) repetition(of *part, nested bool) (*part, error) {
	r := &part{kind: repeated, parts: []*part{of}, maximum: lexeme.Unbounded}
	switch c := p.peek(); c {
	case '+':
		r.minimum = 1
	case '?':
		r.maximum = 1
	case '{':
		if err := p.braces(r, nested); err != nil {
			return nil, err
		}
	}
	p.at++
	r.product = max(1, r.minimum, r.maximum) * most(of)
	if r.product > maxProduct {
		return nil, fmt.Errorf("a repetition within others comes to more than %d", maxProduct)
	}
	p.space(nested)
	return r, nil
}

// most is how often the innermost parts of a part are repeated.
func most(of *part) int {
	n := max(1, of.product)
	for _, p := range of.parts {
		if of.kind != repeated {
			n = max(n, most(p))
		}
	}
	return n
}

// braces reads {m}, {m,} or {m,n} up to its closing brace.
func (p *parser) braces(r *part, nested bool) error {
	p.at++
	p.space(nested)
	least, err := p.count(nested)
	if err != nil {
		return err
	}
	r.minimum, r.maximum = least, least
	if p.take(',') {
		p.space(nested)
		r.maximum = lexeme.Unbounded
		if c := p.peek(); c >= '0' && c <= '9' {
			if r.maximum, err = p.count(nested); err != nil {
				return err
			}
			if r.maximum < least {
				return fmt.Errorf("a repetition asks for at least %d and at most %d", least, r.maximum)
			}
		}
	}
	if p.peek() != '}' {
		return fmt.Errorf("} is expected, not %s", p.here())
	}
	if r.minimum > maxRepetitions {
		return fmt.Errorf("a repetition asks for more than %d", maxRepetitions)
	}
	if r.maximum > maxRepetitions {
		r.maximum = lexeme.Unbounded
	}
	return nil
}

func (p *parser) count(nested bool) (int, error) {
	from := p.at
	for c := p.peek(); c >= '0' && c <= '9'; c = p.peek() {
		p.at++
	}
	if from == p.at {
		return 0, fmt.Errorf("a number is expected, not %s", p.here())
	}
	n, err := strconv.Atoi(p.text[from:p.at])
	if err != nil {
		return 0, errors.New("the number of repetitions is too large")
	}
	p.space(nested)
	return n, nil
}
