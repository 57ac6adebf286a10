// SPDX-License-Identifier: MIT

//go:build tinygo.wasm || wasip1

package penstock

import "github.com/penstock/penstock/plugins/sdk/go/json"

// wrongMethod finds a method of the plugin's type that the SDK would not call although it has the
// name of one that is: those mistakes that are the likeliest. In what TinyGo compiles they cost
// nothing, since it knows which types have which methods.
func wrongMethod(value any) string {
	switch value.(type) {
	case interface{ Open(*Request) }, interface{ Open(Request) error }, interface{ Open() error }:
		return wantedSignature("Open(*penstock.Request) error")
	case interface{ Warm(*Vocabulary) }, interface{ Warm(Vocabulary) error }, interface{ Warm() error }:
		return wantedSignature("Warm(*penstock.Vocabulary) error")
	case interface{ Plan(*Plan) error }, interface{ Plan(json.Value) error }, interface{ Plan(json.Value, *Plan) }, interface{ Plan(*Request, *Plan) error }:
		return wantedSignature("Plan(json.Value, *penstock.Plan) error")
	case interface{ Rewrite([]Message) []Message }, interface{ Rewrite([]Message) error }:
		return wantedSignature("Rewrite([]penstock.Message) ([]penstock.Message, error)")
	case interface{ Render([]Message) string }, interface {
		Render([]*Message) (string, error)
	}:
		return wantedSignature("Render([]penstock.Message) (string, error)")
	case interface{ Prepare() }, interface{ Prepare(Next) }, interface{ Prepare(*Next) error }:
		return wantedSignature("Prepare(*penstock.Next)")
	case interface{ Sample(Candidates) Choice }, interface{ Sample(*Candidates) }, interface{ Sample(*Row) Choice },
		interface{ Sample(*Candidates) Token }, interface {
			Sample(*Candidates) (Choice, error)
		}:
		return wantedSignature("Sample(*penstock.Candidates) penstock.Choice")
	case interface{ SampleRow(Row) Choice }, interface{ SampleRow(*Row) }, interface{ SampleRow([]float32) Choice },
		interface{ SampleRow(*Candidates) Choice }:
		return wantedSignature("SampleRow(*penstock.Row) penstock.Choice")
	case interface{ Accept(Token) }, interface{ Accept(int) Accepted }, interface{ Accept(int32) Accepted }, interface{ Accept(Token) error }:
		return wantedSignature("Accept(penstock.Token) penstock.Accepted")
	case interface{ Draft() []Token }, interface{ Draft(int32) []Token }, interface{ Draft(int) ([]Token, error) }:
		return wantedSignature("Draft(int) []penstock.Token")
	case interface{ Stop([]byte) Verdict }, interface{ Stop(string) Verdict }, interface{ Stop(Token) Verdict },
		interface{ Stop(Token, string) Verdict }, interface{ Stop(Token, []byte) }, interface{ Stop(Token, []byte) bool }:
		return wantedSignature("Stop(penstock.Token, []byte) penstock.Verdict")
	case interface{ Rewind(int) }, interface{ Rewind() error }, interface{ Rewind(int32) error }:
		return wantedSignature("Rewind(int) error")
	case interface{ Close() error }:
		return wantedSignature("Close()")
	case interface{ Run(*Run) }, interface{ Run(Run) error }, interface{ Run() error }:
		return wantedSignature("Run(*penstock.Run) error")
	}
	return ""
}

func wantedSignature(method string) string {
	return "the plugin's type has a method that nothing calls, since its parameters or results are others; it must be " + method
}
