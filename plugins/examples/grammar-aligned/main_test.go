// SPDX-License-Identifier: MIT

package main

import (
	"math"
	"testing"
)

// What the program does with a model, its cases have. That its texts come as often as they should,
// host/plugin/examples finds out, on the module.

func TestNode_Learn_TakesOffWhatIsLost(t *testing.T) {
	lost, whole := &node{known: true}, &node{future: 1}
	half := &node{known: true, mass: 0.8, next: []edge{{1, 0.4, lost}, {2, 0.3, whole}}}
	root := &node{known: true, mass: 0.9, next: []edge{{1, 0.5, half}}}
	half.learn()
	root.learn()
	if math.Abs(half.future-0.4) > 1e-12 || math.Abs(root.future-(0.9-0.5*0.6)) > 1e-12 {
		t.Errorf("of the futures %v and %v the first is 0.8 less 0.4, and the second 0.9 less 0.3", half.future, root.future)
	}
	none := &node{known: true, mass: 0.1, next: []edge{{1, 0.100001, lost}}}
	if none.learn(); none.future != 0 {
		t.Errorf("what rounding leaves is %v, want 0", none.future)
	}
}
