// SPDX-License-Identifier: MIT

package engine

import (
	"encoding/json"
	"sync"

	"github.com/penstock/penstock/native"
)

// maxSchemas is how many grammars of schemas are kept, and maxSchemaBytes how long they may be together.
const (
	maxSchemas     = 64
	maxSchemaBytes = 16 << 20
)

// schemas keeps the grammars of the last JSON schemas: the choices of a request have the same, and programs send theirs again and again.
type schemas struct {
	mu    sync.Mutex
	texts map[string]string // grammars by schema
	order []string          // the schemas, the oldest first
	bytes int
}

func (s *schemas) grammarOf(schema json.RawMessage) (string, error) {
	key := string(normalSchema(schema))
	s.mu.Lock()
	text, known := s.texts[key]
	s.mu.Unlock()
	if known {
		return text, nil
	}
	text, err := native.GrammarOfSchema(key)
	if err != nil {
		return "", err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, known := s.texts[key]; !known {
		s.keep(key, text)
	}
	return text, nil
}

func (s *schemas) keep(key, text string) {
	if s.texts == nil {
		s.texts = map[string]string{}
	}
	s.texts[key] = text
	s.order = append(s.order, key)
	s.bytes += len(key) + len(text)
	for len(s.order) > 1 && (len(s.order) > maxSchemas || s.bytes > maxSchemaBytes) {
		oldest := s.order[0]
		s.bytes -= len(oldest) + len(s.texts[oldest])
		delete(s.texts, oldest)
		s.order = s.order[1:]
	}
}
