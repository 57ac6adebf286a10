// SPDX-License-Identifier: MIT

package tck

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
)

// Write makes a folder with the modules of cases, and with cases.json, which has the requests and
// the expected outcomes.
func Write(dir string, cases []Case) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	list, err := json.MarshalIndent(struct {
		MaxTokens int    `json:"max_tokens"`
		Seed      int    `json:"seed"`
		Cases     []Case `json:"cases"`
	}{MaxTokens, Seed, cases}, "", "  ")
	errs := []error{err, os.WriteFile(filepath.Join(dir, "cases.json"), append(list, '\n'), 0o644)}
	for _, c := range cases {
		for _, m := range c.Modules {
			errs = append(errs, os.WriteFile(filepath.Join(dir, m.File), m.Wasm, 0o644))
		}
	}
	return errors.Join(errs...)
}
