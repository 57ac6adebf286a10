// SPDX-License-Identifier: MIT

package examples

import (
	"encoding/json"
	"path/filepath"
	"testing"
)

// Every example says what it does, and what each field of its configuration means: the page makes
// its card and its form of that.
func TestManifests_AllExamples_Describe(t *testing.T) {
	folders, err := filepath.Glob(filepath.Join(sources, "*", "README.md"))
	if err != nil || len(folders) < 25 {
		t.Fatalf("there are %d examples; %v", len(folders), err)
	}
	for _, readme := range folders {
		name := filepath.Base(filepath.Dir(readme))
		m := loaded(t, name, newWords()).Manifest
		var schema struct {
			Type       string
			Properties map[string]struct{ Title, Description string }
		}
		if len(m.ConfigSchema) > 0 {
			if err := json.Unmarshal(m.ConfigSchema, &schema); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
		if m.Name != name || m.Summary == "" || m.Version == "" || schema.Type != "object" {
			t.Errorf("%s: name %q, version %q, summary %q, and a configuration of type %q", name, m.Name, m.Version, m.Summary, schema.Type)
		}
		for field, of := range schema.Properties {
			if of.Title == "" && of.Description == "" {
				t.Errorf("%s: config.%s has neither a title nor a description", name, field)
			}
		}
	}
}
