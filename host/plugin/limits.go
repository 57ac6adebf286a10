// SPDX-License-Identifier: MIT

package plugin

import (
	"time"

	"github.com/penstock/penstock/host/plugin/fuel"
	"github.com/penstock/penstock/plugins/abi"
)

// Limits bound what a plugin may use. DefaultLimits are those of ABI v1.
type Limits struct {
	Module   fuel.Limits   // what a module may consist of
	Compile  time.Duration // of all processors, for compiling a module
	Upload   time.Duration // of an upload, until it is answered, by the clock
	HookFuel int64         // units for each call of prepare, sample, accept, stop, filter, rewind, close
	HookTime time.Duration // of each such call; only for close do waits for others count
	// ProgramFuel is for all of a program's penstock_run, in units. Between two waits it has what
	// HookFuel says.
	ProgramFuel int64
	SetupFuel   int64         // units for each call of describe, warm, open, template, _initialize
	SetupTime   time.Duration // of all such calls of a request, with the wait for their time slices
	LoadTime    time.Duration // of each such call when a module is loaded
	PlanFuel    int64         // units for each call of plan
	PlanTime    time.Duration // of each such call, without the wait for its time slices and the rests between them
	PlanText    int           // bytes that plan emits
	PlanMemory  uint64        // bytes of pages that plan changes
	Memory      int64         // bytes of all instances together
	Stack       int64         // bytes of guest call stack
	Log         int           // bytes a request
	Emit        int           // bytes a call
	Fail        int           // bytes of the text of a refusal
	Output      int           // bytes of all values for the client
	Outputs     int           // values for the client
	Held        int           // bytes of text a stop plugin or a filter may hold back
	Filtered    int           // bytes that a filter may write for an answer beside eight for each that it is given
	Grammars    int           // handles an instance
	Grammar     int           // bytes of a grammar's text
	Faults      int           // faults a minute that lead to quarantine
}

// DefaultMemory is what all instances may have together where nothing else is configured.
const DefaultMemory = 2 << 30

// DefaultProgramFuel is what a program may use where nothing else is configured: some minutes of a
// processor.
const DefaultProgramFuel = 100_000_000_000

// DefaultLimits returns the limits of ABI v1.
func DefaultLimits() Limits {
	return Limits{
		Module:    fuel.DefaultLimits(),
		Compile:   abi.LimitCompileMS * time.Millisecond,
		Upload:    abi.LimitUploadMS * time.Millisecond,
		HookFuel:  abi.LimitHookFuel,
		SetupFuel: abi.LimitSetupFuel,
		HookTime:  abi.LimitHookMS * time.Millisecond,

		ProgramFuel: DefaultProgramFuel,

		SetupTime: abi.LimitSetupMS * time.Millisecond,
		LoadTime:  abi.LimitLoadMS * time.Millisecond,
		PlanFuel:  abi.LimitPlanFuel,
		PlanTime:  abi.LimitPlanMS * time.Millisecond,

		PlanText:   abi.LimitPlanBytes,
		PlanMemory: abi.LimitPlanMemory,

		Memory:   DefaultMemory,
		Stack:    abi.LimitStackBytes,
		Log:      abi.LimitLogBytes,
		Emit:     abi.LimitEmitBytes,
		Fail:     abi.LimitFailBytes,
		Output:   abi.LimitOutputBytes,
		Outputs:  abi.LimitOutputs,
		Held:     abi.LimitHeldBytes,
		Filtered: abi.LimitFilterBytes,
		Grammars: abi.LimitGrammars,
		Grammar:  abi.LimitGrammarBytes,
		Faults:   abi.LimitFaults,
	}
}
