// SPDX-License-Identifier: MIT

package plugin

import (
	"time"

	"github.com/penstock/penstock/host/plugin/fuel"
	"github.com/penstock/penstock/plugins/abi"
)

// Limits bound what a plugin may use. DefaultLimits are those of ABI v1.
type Limits struct {
	Module    fuel.Limits   // what a module may consist of
	Compile   time.Duration // compiling may take so long
	HookFuel  int64         // units a call of prepare, sample, accept, stop, rewind, close
	SetupFuel int64         // units a call of describe, warm, open, template, _initialize
	HookTime  time.Duration // backstop of a hook that spends its time in host functions
	SetupTime time.Duration // the same of set-up calls
	Stack     int64         // bytes of guest call stack
	Log       int           // bytes a request
	Emit      int           // bytes a call
	Fail      int           // bytes of the text of a refusal
	Held      int           // bytes of text a stop plugin may hold back
	Grammars  int           // handles an instance
	Grammar   int           // bytes of a grammar's text
	Faults    int           // faults a minute that lead to quarantine
}

// DefaultLimits returns the limits of ABI v1. Times are twenty times what the fuel takes at two units a nanosecond.
func DefaultLimits() Limits {
	return Limits{
		Module:    fuel.DefaultLimits(),
		Compile:   abi.LimitCompileMS * time.Millisecond,
		HookFuel:  abi.LimitHookFuel,
		SetupFuel: abi.LimitSetupFuel,
		HookTime:  20 * abi.LimitHookFuel / 2 * time.Nanosecond,
		SetupTime: 20 * abi.LimitSetupFuel / 2 * time.Nanosecond,
		Stack:     abi.LimitStackBytes,
		Log:       abi.LimitLogBytes,
		Emit:      abi.LimitEmitBytes,
		Fail:      abi.LimitFailBytes,
		Held:      abi.LimitHeldBytes,
		Grammars:  abi.LimitGrammars,
		Grammar:   abi.LimitGrammarBytes,
		Faults:    abi.LimitFaults,
	}
}
