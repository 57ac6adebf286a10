// SPDX-License-Identifier: MIT

package completion

import (
	"context"
	"strings"

	"github.com/penstock/penstock/host/refusal"
	"github.com/penstock/penstock/host/serving"
	"github.com/penstock/penstock/scheduler"
)

// FillIn makes a prompt before a gap, with the model's first token if it wants one, and the text
// after it, which came in a field, one prompt whose answer fills the gap.
func FillIn(ctx context.Context, m *serving.Model, before []scheduler.Token, after, field string) ([]scheduler.Token, error) {
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
