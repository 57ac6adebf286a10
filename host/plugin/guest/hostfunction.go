// SPDX-License-Identifier: MIT

package guest

import (
	"context"
	"fmt"
	"slices"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"

	"github.com/penstock/penstock/host/plugin/compile"
	"github.com/penstock/penstock/host/plugin/fuel"
	"github.com/penstock/penstock/plugins/abi"
)

// hostFunction takes its parameters from the stack and leaves its result there. It ends the call
// by panicking with a *Violation, which wazero turns into the call's error.
type hostFunction func(i *Instance, stack []uint64)

// functions are the ABI's imports; their types are in the ABI's table.
var functions = map[string]hostFunction{
	abi.ImportConfig:             hostConfig,
	abi.ImportMessages:           hostMessages,
	abi.ImportPrompt:             hostPrompt,
	abi.ImportHistory:            hostHistory,
	abi.ImportMedia:              hostMedia,
	abi.ImportText:               hostText,
	abi.ImportFeature:            hostFeature,
	abi.ImportParam:              hostParam,
	abi.ImportLogprob:            hostLogprob,
	abi.ImportState:              hostState,
	abi.ImportPart:               hostPart,
	abi.ImportRequest:            hostRequest,
	abi.ImportRandom:             hostRandom,
	abi.ImportVocabSize:          hostVocabSize,
	abi.ImportPiece:              hostPiece,
	abi.ImportVocab:              hostVocab,
	abi.ImportTokenAttr:          hostTokenAttr,
	abi.ImportSpecial:            hostSpecial,
	abi.ImportTokenize:           hostTokenize,
	abi.ImportOutput:             hostOutput,
	abi.ImportBind:               hostBind,
	abi.ImportDecline:            hostDecline,
	abi.ImportEmit:               hostEmit,
	abi.ImportFail:               hostFail,
	abi.ImportLog:                hostLog,
	abi.ImportGrammarOpen:        hostGrammarOpen,
	abi.ImportGrammarMask:        hostGrammarMask,
	abi.ImportGrammarAccept:      hostGrammarAccept,
	abi.ImportGrammarMaskWithin:  hostGrammarMaskWithin,
	abi.ImportGrammarRest:        hostGrammarRest,
	abi.ImportGrammarReason:      hostGrammarReason,
	abi.ImportBranchOpen:         hostBranchOpen,
	abi.ImportBranchFork:         hostBranchFork,
	abi.ImportBranchClose:        hostBranchClose,
	abi.ImportBranchCut:          hostBranchCut,
	abi.ImportBranchAppend:       hostBranchAppend,
	abi.ImportBranchTokens:       hostBranchTokens,
	abi.ImportBranchesWait:       hostBranchesWait,
	abi.ImportBranchCandidates:   hostBranchCandidates,
	abi.ImportBranchLogits:       hostBranchLogits,
	abi.ImportBranchScores:       hostBranchScores,
	abi.ImportBranchOpenMessages: hostBranchOpenMessages,
	abi.ImportBranchMask:         hostBranchMask,
	abi.ImportBranchMix:          hostBranchMix,
	abi.ImportBranchGrammar:      hostBranchGrammar,
	abi.ImportChainOpen:          hostChainOpen,
	abi.ImportBranchSample:       hostBranchSample,
	abi.ImportBranchRun:          hostBranchRun,
	abi.ImportBranchState:        hostBranchState,
	abi.ImportBranchReason:       hostBranchReason,
	abi.ImportAdopt:              hostAdopt,
	abi.ImportShow:               hostShow,
}

// offer makes the host functions that a module imports known to its runtime; checkImports has
// looked at their types. wazero writes machine code for each, so the others are left out. Of the
// optional ones, one that the host does not have ends the call.
func offer(ctx context.Context, code *compile.Code) error {
	if err := fuel.Offer(ctx, code.Runtime); err != nil {
		return fmt.Errorf("failed to offer fuel: %w", err)
	}
	hosts := map[string]wazero.HostModuleBuilder{}
	type function struct{ module, name string }
	offered := map[function]bool{}
	for _, f := range code.Compiled.ImportedFunctions() {
		module, name, _ := f.Import()
		if module == fuel.ImportModule || offered[function{module, name}] {
			continue
		}
		offered[function{module, name}] = true
		if hosts[module] == nil {
			hosts[module] = code.Runtime.NewHostModuleBuilder(module)
		}
		define(hosts[module], name, implementation(module, name), f.ParamTypes(), f.ResultTypes())
	}
	for module, host := range hosts {
		if _, err := host.Instantiate(ctx); err != nil {
			return fmt.Errorf("failed to offer the functions of %s: %w", module, err)
		}
	}
	return nil
}

// implementation is what runs where a module imports a function.
func implementation(module, name string) hostFunction {
	run := functions[name]
	if sh, ok := shapes[name]; ok && run != nil && module != wasiModule {
		return sh.noted(name, run)
	}
	if module == wasiModule {
		run = wasi[slices.IndexFunc(wasi, func(f wasiFunction) bool { return f.name == name })].run
	}
	if run == nil {
		run = missing(name)
	}
	return run
}

// define makes one function known. All of them charge for the call itself.
func define(to wazero.HostModuleBuilder, name string, f hostFunction, params, results []api.ValueType) {
	run := api.GoFunc(func(ctx context.Context, stack []uint64) {
		i := ctx.(*caller).instance // all calls are made with one
		i.charge(callFuel)
		f(i, stack)
	})
	to.NewFunctionBuilder().WithGoFunction(run, params, results).Export(name)
}

// i32 is an i32 result.
func i32(n int32) uint64 { return uint64(uint32(n)) }
