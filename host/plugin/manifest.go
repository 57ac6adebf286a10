// SPDX-License-Identifier: MIT

package plugin

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"unicode/utf8"

	"github.com/penstock/penstock/plugins/abi"
)

// View is what a plugin's sample sees.
type View string

// The views.
const (
	ViewCandidates View = "candidates"
	ViewLogits     View = "logits"
	ViewNone       View = "none"
)

// Manifest is what a plugin says of itself. The zero values of the optional fields are filled in when it is read.
type Manifest struct {
	Name         string          `json:"name"`
	Version      string          `json:"version,omitempty"`
	Summary      string          `json:"summary,omitempty"`
	View         View            `json:"view"`
	Candidates   int             `json:"candidates"` // how many a candidates view has at most
	Hold         int             `json:"hold"`       // tokens the plugin may take back
	ConfigSchema json.RawMessage `json:"config_schema,omitempty"`
}

// ValidName tells whether a plugin may be called so.
var ValidName = regexp.MustCompile(`^[a-z0-9][a-z0-9._-]{0,63}$`).MatchString

// longestText bounds version and summary, in bytes.
const longestText = 1024

// parseManifest reads and checks what describe emitted. samples tells whether the module exports penstock_sample.
func parseManifest(text []byte, samples bool) (Manifest, error) {
	m := Manifest{Candidates: abi.LimitDefaultCandidates}
	if err := checkDepth(text); err != nil {
		return m, err
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(&m); err != nil {
		return m, fmt.Errorf("%w: %w", ErrManifest, err)
	}
	if m.View == "" {
		m.View = ViewNone
		if samples {
			m.View = ViewCandidates
		}
	}
	switch {
	case !ValidName(m.Name):
		return m, fmt.Errorf("%w: name is %q; it must match [a-z0-9][a-z0-9._-]{0,63}", ErrManifest, m.Name)
	case len(m.Version) > longestText || len(m.Summary) > longestText:
		return m, fmt.Errorf("%w: version and summary may have %d bytes each", ErrManifest, longestText)
	case m.View != ViewCandidates && m.View != ViewLogits && m.View != ViewNone:
		return m, fmt.Errorf("%w: view is %q; it must be %q, %q or %q", ErrManifest, m.View, ViewCandidates, ViewLogits, ViewNone)
	case m.View != ViewNone && !samples:
		return m, fmt.Errorf("%w: view is %q, but %s is not exported; leave view out or make it %q", ErrManifest, m.View, abi.ExportSample, ViewNone)
	case m.Candidates < 1 || m.Candidates > abi.LimitCandidates:
		return m, fmt.Errorf("%w: candidates is %d; it must be from 1 to %d", ErrManifest, m.Candidates, abi.LimitCandidates)
	case m.Hold < 0 || m.Hold > abi.LimitHold:
		return m, fmt.Errorf("%w: hold is %d; it must be from 0 to %d", ErrManifest, m.Hold, abi.LimitHold)
	}
	return m, nil
}

// checkDepth checks that text is one JSON value that is not nested too deep, before anything recursive looks at it.
func checkDepth(text []byte) error {
	if !utf8.Valid(text) {
		return fmt.Errorf("%w: it is not UTF-8", ErrManifest)
	}
	const deepest = abi.LimitSchemaDepth + 1 // the manifest itself is a level
	d := json.NewDecoder(bytes.NewReader(text))
	depth, values := 0, 0
	for {
		t, err := d.Token()
		if errors.Is(err, io.EOF) && depth == 0 && values == 1 {
			return nil
		} else if err != nil {
			return fmt.Errorf("%w: it must be one JSON object: %w", ErrManifest, err)
		}
		switch t {
		case json.Delim('{'), json.Delim('['):
			depth++
		case json.Delim('}'), json.Delim(']'):
			depth--
		}
		if depth > deepest {
			return fmt.Errorf("%w: config_schema is nested more than %d levels deep", ErrManifest, abi.LimitSchemaDepth)
		}
		if depth == 0 {
			values++
		}
	}
}
