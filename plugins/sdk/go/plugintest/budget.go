// SPDX-License-Identifier: MIT

package plugintest

import (
	"cmp"
	"encoding/json"

	"github.com/penstock/penstock/plugins/sdk/go/internal/abi"
)

// branches is how many branches the request has at once: what the manifest says, or fewer where
// the configuration asks for fewer.
func (s *Session) branches() int {
	most := max(1, s.manifest.Branches)
	var config map[string]any
	if json.Unmarshal([]byte(withDefaults(cmp.Or(s.Config, "{}"), string(s.manifest.Schema))), &config) == nil {
		if asked, ok := config[s.manifest.BranchesConfig].(float64); ok {
			most = max(1, min(most, int(asked)))
		}
	}
	return most
}

// refuses tells why a branch that has some tokens may not have more, if it may not; 0: it may, and
// they are counted.
func (h host) refuses(has, more int) int32 {
	s, p := h.s, h.running()
	if s.ContextSize > 0 && has+more >= s.ContextSize {
		return abi.BranchContextFull
	}
	prompt := len(s.Prompt)
	most := prompt + p.most*(prompt+cmp.Or(s.MaxTokens, s.ContextSize)+256)
	if s.MaxTokens+s.ContextSize > 0 && p.tokens+more > most {
		return abi.BranchBudget
	}
	p.tokens += more
	return 0
}

// moveTo begins a position of random draws.
func (s *Session) moveTo(position int) {
	if position != s.position {
		s.position, s.draws = position, 0
	}
}
