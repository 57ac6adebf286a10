// SPDX-License-Identifier: MIT

package completion

import (
	"context"
	"strings"

	"github.com/penstock/penstock/host/refusal"
	"github.com/penstock/penstock/scheduler"
)

// FIM are the tokens for filling in the middle; -1 where the model has none. They stand before the text that precedes the gap, before
// the text that follows it, before what fills it, before the name of a repository, and before the name of a file.
type FIM struct{ Prefix, Suffix, Middle, Repository, Separator int32 }

// Missing are the names of the tokens that a model lacks to fill in: of prefix, suffix and middle.
func (f FIM) Missing() (names []string) {
	for _, t := range []struct {
		name  string
		token int32
	}{{"prefix", f.Prefix}, {"suffix", f.Suffix}, {"middle", f.Middle}} {
		if t.token < 0 {
			names = append(names, t.name)
		}
	}
	return names
}

// FillIn makes a prompt before a gap, with the model's first token if it wants one, and the text after it, which came in a field, one
// prompt whose answer fills the gap.
func (m *Model) FillIn(ctx context.Context, before []scheduler.Token, after, field string) ([]scheduler.Token, error) {
	if missing := m.FIM.Missing(); len(missing) > 0 {
		return nil, refusal.Unsupported(field, "%s is set, but this model cannot fill in the middle: its vocabulary has no %s token", field, strings.Join(missing, " token and no "))
	}
	suffix, err := m.Encoder().Tokenize(ctx, after, false, false)
	if err != nil {
		return nil, TextError(err, field)
	}
	all := make([]scheduler.Token, 0, len(before)+len(suffix)+3)
	if m.AddBOS && len(before) > 0 && before[0] == m.BOSToken {
		all, before = append(all, before[0]), before[1:]
	}
	all = append(append(append(all, m.FIM.Prefix), before...), m.FIM.Suffix)
	return append(append(all, suffix...), m.FIM.Middle), nil
}
