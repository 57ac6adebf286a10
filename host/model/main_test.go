// SPDX-License-Identifier: MIT

package model

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/penstock/penstock/host/model/kerneltest"
	"github.com/penstock/penstock/host/spawn"
	"go.uber.org/goleak"
)

// misbehaviourEnv makes the test program a child that misbehaves in the way it names.
const misbehaviourEnv = "PENSTOCK_TEST_CHILD"

func TestMain(m *testing.M) {
	kerneltest.Main()
	switch how := os.Getenv(misbehaviourEnv); {
	case how == "" || len(os.Args) < 3 || os.Args[1] != childCommand || os.Args[2] != tryModels:
		spawn.Run(Child())
		goleak.VerifyTestMain(m)
	case how == "silent":
		os.Exit(3)
	default:
		misbehave(how)
	}
}

// misbehave answers the greeting and then does what a damaged model could make llama.cpp do.
func misbehave(how string) {
	fmt.Println("a line of some library")
	fmt.Println(hello)
	line, err := bufio.NewReader(os.Stdin).ReadBytes('\n')
	if err != nil {
		os.Exit(0)
	}
	switch how {
	case "hang":
		time.Sleep(time.Hour)
	case "assert":
		fmt.Fprintln(os.Stderr, "loading\n/where/it/was/built/src/llama-vocab.cpp:2539: GGML_ASSERT(a == b) failed")
		panic("SIGABRT")
	case "segfault":
		var p *int
		*p = 1
	case "quiet exit":
		os.Exit(4)
	case "abort together", "abort alone":
		abort(how, line)
	case "nonsense":
		fmt.Println(marker + "{")
	}
}

// abort ends the child in the exercise together, or before it, unless the request says to leave
// that out.
func abort(how string, line []byte) {
	var r request
	if err := json.Unmarshal(line, &r); err != nil {
		panic(err)
	}
	announce("")
	if how == "abort together" {
		announce(Together)
	}
	if r.Lacks.Has(Together) {
		reply, err := json.Marshal(answer{Lacks: r.Lacks})
		if err != nil {
			panic(err)
		}
		fmt.Println(marker + string(reply))
		return
	}
	fmt.Fprintln(os.Stderr, "/src/ggml.c:1: GGML_ASSERT(few) failed")
	os.Exit(6)
}
