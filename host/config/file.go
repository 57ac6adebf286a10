// SPDX-License-Identifier: MIT

package config

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/knadh/koanf/providers/confmap"
	"github.com/knadh/koanf/v2"
	"go.yaml.in/yaml/v3"
)

func (l *loader) readFile(path string) {
	optional := path == ""
	if optional {
		path = DefaultFile
	}
	text, err := os.ReadFile(path)
	if optional && errors.Is(err, fs.ErrNotExist) {
		return
	}
	var tree map[string]any
	if err == nil {
		tree, err = parseFile(text)
	}
	k := koanf.New(".")
	if err == nil {
		err = k.Load(confmap.Provider(tree, ""), nil)
	}
	if err != nil {
		l.problems = append(l.problems, fmt.Errorf("configuration file %s: %w", path, err))
		return
	}
	l.readNamedModels(k.Raw(), "file "+path)
	given := map[string]int{}
	countKeys(k.Raw(), "", given)
	values := k.All()
	for _, name := range k.Keys() {
		switch v := values[name]; {
		case l.isOfNamedModel(name):
		case given[name] > 1: // which of them koanf took is chance
			l.problems = append(l.problems, &Problem{Key: name, Origin: "file " + path, Want: "must be given once, in its section or with a dot", kind: ErrWrongValue})
		case v != nil && !isEmptySection(name, v):
			l.set(name, v, "file "+path)
		}
	}
}

// countKeys counts how often a file gives a key: in its section, and with a dot.
func countKeys(section map[string]any, prefix string, given map[string]int) {
	for key, value := range section {
		if within, ok := value.(map[string]any); ok && len(within) > 0 {
			countKeys(within, prefix+key+".", given)
		} else {
			given[prefix+key]++
		}
	}
}

// parseFile reads YAML, of which JSON is a part.
func parseFile(text []byte) (tree map[string]any, err error) {
	var document yaml.Node
	if err := yaml.Unmarshal(text, &document); err != nil {
		return nil, err
	}
	keepText(&document)
	err = document.Decode(&tree)
	return tree, err
}

// keepText has plain values be texts, as they are in the environment: the table knows the kinds of
// the keys. YAML would take the API key 0123 for the number 83, 1e9 for another, and the name
// 2026-01-02 for a time of day.
func keepText(n *yaml.Node) {
	if n.Kind == yaml.ScalarNode && n.Style&yaml.TaggedStyle == 0 {
		switch n.ShortTag() {
		case "!!bool", "!!int", "!!float", "!!timestamp":
			n.Tag = "!!str"
		}
	}
	for _, child := range n.Content {
		keepText(child)
	}
}

// isEmptySection tells a section without keys, as a file with everything commented out has it.
func isEmptySection(name string, v any) bool {
	m, isMap := v.(map[string]any)
	return isMap && len(m) == 0 && slices.ContainsFunc(table, func(k Key) bool {
		return strings.HasPrefix(k.Name, name+".")
	})
}
