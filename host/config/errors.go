// SPDX-License-Identifier: MIT

package config

import (
	"errors"
	"fmt"
	"strings"
)

// Sentinels of a Problem; compare with errors.Is.
var (
	ErrUnknownKey = errors.New("unknown configuration key")
	ErrWrongValue = errors.New("wrong configuration value")
)

// Problem is one thing wrong with the configuration.
type Problem struct {
	Key    string // or the name of an environment variable that no key has
	Value  string // empty where it may be secret
	Origin string
	Want   string // what is allowed
	kind   error
}

// Error names key, value, origin and what is allowed.
func (p *Problem) Error() string {
	if p.Value == "" {
		return fmt.Sprintf("%v %s (%s): %s", p.kind, p.Key, p.Origin, p.Want)
	}
	return fmt.Sprintf("%v %s = %q (%s): %s", p.kind, p.Key, p.Value, p.Origin, p.Want)
}

// Unwrap returns ErrUnknownKey or ErrWrongValue.
func (p *Problem) Unwrap() error { return p.kind }

// wrong is a value that is not allowed. Where it cannot be read for its unit, because says so.
func wrong(s Setting, because error) error {
	p := &Problem{Key: s.Key.Name, Origin: s.Origin, Want: "must be " + s.Key.Allowed, kind: ErrWrongValue}
	if s.Key.Allowed == "" {
		p.Want = "must be a " + string(s.Key.Kind)
	}
	if !s.Key.Secret {
		p.Value = show(s.Value)
	}
	if unit := (unitError{}); errors.As(because, &unit) && !s.Key.Secret {
		p.Want += "; " + unit.Error()
	}
	return p
}

// unknown hides the value where the name looks like a misspelt secret's.
func unknown(name string, raw any, origin string) error {
	want := "penstock config print lists the keys"
	if near := nearest(name); near != "" {
		want = "did you mean " + near + "? " + want
	}
	p := &Problem{Key: name, Origin: origin, Want: want, kind: ErrUnknownKey}
	if !strings.Contains(strings.ToLower(name), "key") {
		p.Value = show(raw)
	}
	return p
}

// nearest finds a key that differs in underscores or in a missing section only.
func nearest(name string) string {
	variable := strings.HasPrefix(name, prefix)
	for _, k := range table {
		known := k.Name
		if variable {
			known = k.Variable()
		}
		if strings.ReplaceAll(known, "_", "") == strings.ReplaceAll(name, "_", "") || strings.HasSuffix(known, "."+name) {
			return known
		}
	}
	return ""
}
