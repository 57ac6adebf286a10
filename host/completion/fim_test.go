// SPDX-License-Identifier: MIT

package completion_test

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/penstock/penstock/host/completion"
	"github.com/penstock/penstock/host/completion/completiontest"
	"github.com/penstock/penstock/host/refusal"
)

func TestModel_FillIn(t *testing.T) {
	info := completiontest.Info()
	info.FIM = completion.FIM{Prefix: 2, Suffix: 3, Middle: 4, Repository: -1, Separator: -1}
	info.AddBOS, info.BOSToken = true, 1
	m := &completion.Model{Info: info, Engine: completiontest.Toy{}}
	for name, tc := range map[string]struct{ before, want []int32 }{
		"with the first token": {[]int32{1, 'a'}, []int32{1, 2, 'a', 3, 'b', 'c', 4}},
		"without":              {[]int32{'a'}, []int32{2, 'a', 3, 'b', 'c', 4}},
		"nothing before":       {nil, []int32{2, 3, 'b', 'c', 4}},
	} {
		got, err := m.FillIn(t.Context(), tc.before, "bc", "suffix")
		if diff := cmp.Diff(tc.want, got); diff != "" || err != nil {
			t.Errorf("%s: %v %s", name, err, diff)
		}
	}
	var refused *refusal.Error
	if _, err := m.FillIn(t.Context(), nil, "untokenizable", "suffix"); !errors.As(err, &refused) || refused.Field != "suffix" {
		t.Errorf("got %v", err)
	}
	m.FIM.Middle = -1
	if _, err := m.FillIn(t.Context(), nil, "b", "suffix"); !errors.As(err, &refused) || refused.Field != "suffix" || refused.Kind != refusal.KindInvalid {
		t.Errorf("got %v", err)
	}
}
