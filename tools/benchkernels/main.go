// SPDX-License-Identifier: MIT

// Command benchkernels compares products by Penstock's kernels with ggml's, for each type of
// weights.
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"runtime"
	"strings"

	"github.com/penstock/penstock/native"
	"github.com/penstock/penstock/tools/section"
)

func main() {
	var b bench
	document := flag.String("document", "", "write the table into this file, between the markers of its instruction set")
	types := flag.String("types", "", "weights' types to measure, such as q4_K,q6_K; empty: all that Penstock has products for")
	flag.IntVar(&b.threads, "threads", runtime.NumCPU(), "threads of a product")
	flag.IntVar(&b.rounds, "rounds", 9, "rounds in which the kernels take turns")
	flag.IntVar(&b.width, "width", 2048, "columns of a matrix of weights; a multiple of 256")
	flag.IntVar(&b.results, "results", 2048, "rows of a matrix of weights")
	rows := flag.String("rows", "1,2,4,8,16,32,64", "rows of inputs to measure with")
	flag.Parse()
	err := json.Unmarshal([]byte("["+*rows+"]"), &b.rows)
	if err == nil {
		err = run(b, *types, *document)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "benchkernels:", err)
		os.Exit(1)
	}
}

func run(b bench, types, document string) error {
	instructions := native.ProductInstructions()
	if instructions == "" {
		return fmt.Errorf("this build has no products for this CPU: it needs AVX2 or NEON with dot products, and PENSTOCK_KERNELS=ON")
	}
	var all []result
	for o := native.Operation(0); o < native.Attention; o++ {
		if !(native.Kernel{Family: native.PenstockKernels, Operation: o}).Known() || types != "" && !listed(types, o.String()) {
			continue
		}
		r, err := b.measure(o)
		if err != nil {
			return fmt.Errorf("%v: %w", o, err)
		}
		fmt.Println(r)
		all = append(all, r)
	}
	text := b.markdown(instructions, all)
	if document == "" {
		fmt.Print(text)
		return nil
	}
	return section.Of("make bench-kernels", instructions).Replace(document, "\n"+text+"\n")
}

func listed(types, name string) bool {
	for t := range strings.SplitSeq(types, ",") {
		if strings.EqualFold(t, name) {
			return true
		}
	}
	return false
}
