// SPDX-License-Identifier: MIT

package model

import (
	"fmt"
	"os"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// childEnv makes the test program a child that misbehaves in the way it names.
const childEnv = "PENSTOCK_TEST_CHILD"

func TestMain(m *testing.M) {
	switch how := os.Getenv(childEnv); {
	case how == "" || os.Getenv(probeEnv) == "":
		ProbeMain()
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
	if _, err := os.Stdin.Read(make([]byte, 1)); err != nil {
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
	case "nonsense":
		fmt.Println(marker + "{")
	}
}
