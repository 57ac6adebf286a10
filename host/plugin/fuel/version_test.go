// SPDX-License-Identifier: MIT

package fuel

import (
	"os"
	"testing"
	"testing/fstest"
)

// Whatever of the rewriter changes, its version does.
func TestVersion_FollowsTheSource(t *testing.T) {
	of := func(name, text string) string {
		return versionOf(fstest.MapFS{"a.go": {Data: []byte("package fuel")}, name: {Data: []byte(text)}})
	}
	if of("b.go", "x") == of("b.go", "y") || of("b.go", "x") == of("c.go", "x") {
		t.Error("another source has the same version")
	}
	if of("b_test.go", "x") != of("b_test.go", "y") {
		t.Error("a test has a part in it")
	}
	if here := versionOf(os.DirFS(".")); Version() != here {
		t.Errorf("the version is %s, the source's is %s", Version(), here)
	}
}
