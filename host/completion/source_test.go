// SPDX-License-Identifier: MIT

package completion

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/penstock/penstock/host/refusal"
	"github.com/penstock/penstock/host/serving"
	"github.com/penstock/penstock/host/serving/servingtest"
)

func TestModel_FillIn(t *testing.T) {
	info := servingtest.Info()
	info.Vocabulary.FIM = serving.FIM{Prefix: 2, Suffix: 3, Middle: 4, Repository: -1, Separator: -1}
	info.Vocabulary.AddBOS, info.Vocabulary.BOSToken = true, 1
	m := &serving.Model{Info: info, Engine: servingtest.Toy{}}
	for name, tc := range map[string]struct{ before, want []int32 }{
		"with the first token": {[]int32{1, 'a'}, []int32{1, 2, 'a', 3, 'b', 'c', 4}},
		"without":              {[]int32{'a'}, []int32{2, 'a', 3, 'b', 'c', 4}},
		"nothing before":       {nil, []int32{2, 3, 'b', 'c', 4}},
	} {
		got, err := fillIn(t.Context(), m, tc.before, "bc")
		if diff := cmp.Diff(tc.want, got); diff != "" || err != nil {
			t.Errorf("%s: %v %s", name, err, diff)
		}
	}
	var refused *refusal.Error
	if _, err := fillIn(t.Context(), m, nil, "untokenizable"); !errors.As(err, &refused) || refused.Field != "suffix" {
		t.Errorf("got %v", err)
	}
	m.Vocabulary.FIM.Middle = -1
	if _, err := fillIn(t.Context(), m, nil, "b"); !errors.As(err, &refused) || refused.Field != "suffix" || refused.Kind != refusal.KindInvalid {
		t.Errorf("got %v", err)
	}
}
