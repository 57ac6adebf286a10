// SPDX-License-Identifier: MIT

package native

// #include "penstock.h"
import "C"

import (
	"fmt"
	"os"
	"slices"
	"strings"
)

// LevelVariable is the environment variable that forces a level of the CPU.
const LevelVariable = "PENSTOCK_CPU_LEVEL"

// LevelChoice tells for which level of CPUs the kernels that compute here were compiled. It is
// empty in a build for one CPU.
type LevelChoice struct {
	Used    string
	Offered []string // the levels that this CPU says it has, lowest first
	Failed  []string // those of them that computing crashed with, or gave wrong results
	Forced  bool     // by the variable
}

// chosenLevel is what init chose.
var chosenLevel struct {
	LevelChoice
	err error
}

// Level is the level of the CPU's kernels. The error says that the variable names none of this
// build and CPU.
func Level() (LevelChoice, error) { return chosenLevel.LevelChoice, chosenLevel.err }

// useLevel chooses a level. Nothing may have been computed before. Child processes get the same
// one without a trial.
func useLevel() {
	all := make([]string, int(C.ps_level_count()))
	number := map[string]C.int32_t{}
	var offered []string
	for i := range all {
		n := C.int32_t(i) //nolint:gosec // there are a few
		all[i] = C.GoString(C.ps_level_name(n))
		number[all[i]] = n
		if C.ps_level_offered(n) {
			offered = append(offered, all[i])
		}
	}
	works := func(level string) bool { return tryLevel(number[level], false) }
	chosenLevel.LevelChoice, chosenLevel.err = chooseLevel(all, offered, os.Getenv(LevelVariable), works)
	if used := chosenLevel.Used; used != "" {
		C.ps_level_use(number[used])
		_ = os.Setenv(LevelVariable, used) // it fails for no such name
	}
}

// currentLevel is the number of what is in use.
const currentLevel = -1

// tryLevel reports whether a child that computes with a level comes back with the right results.
// For tests it can be made to crash.
func tryLevel(number C.int32_t, crash bool) bool { return bool(C.ps_level_try(number, C.bool(crash))) }

// chooseLevel takes the forced level, or else the highest offered one that works. The lowest is
// taken untried.
func chooseLevel(all, offered []string, forced string, works func(string) bool) (LevelChoice, error) {
	c := LevelChoice{Offered: offered}
	switch {
	case forced != "" && len(all) == 0:
		return c, fmt.Errorf("%s is %q, but this program was built for one CPU only: unset it", LevelVariable, forced)
	case forced != "" && !slices.Contains(all, forced):
		return c, fmt.Errorf("%s is %q, and this program has only %s: name one of them, or unset it", LevelVariable, forced, strings.Join(all, ", "))
	case forced != "" && !slices.Contains(offered, forced):
		return c, fmt.Errorf("%s is %q, and this CPU has only %s: name one of them, or unset it", LevelVariable, forced, strings.Join(offered, ", "))
	case forced != "":
		c.Used, c.Forced = forced, true
		return c, nil
	}
	for _, level := range slices.Backward(offered) {
		if level == offered[0] || works(level) {
			c.Used = level
			break
		}
		c.Failed = append(c.Failed, level)
	}
	return c, nil
}
