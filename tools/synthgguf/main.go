// SPDX-License-Identifier: MIT

// Command synthgguf writes a model file with random weights for measuring speed.
package main

import (
	"bufio"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"

	"github.com/penstock/penstock/native/gguf/synth"
)

func main() {
	shape := flag.String("shape", "135m", "135m, 0.5b or 1b")
	quant := flag.String("quant", "Q4_0", "Q4_0 or Q8_0")
	vocab := flag.String("vocab", "", "GGUF file whose vocabulary is used (required); llama.cpp has some under models/")
	seed := flag.Uint64("seed", 1, "seed of the weights")
	out := flag.String("o", "", "file to write (required)")
	flag.Parse()
	if err := run(*shape, *quant, *vocab, *out, *seed); err != nil {
		fmt.Fprintln(os.Stderr, "synthgguf:", err)
		os.Exit(1)
	}
}

// run writes beside the target and renames, so that an interrupted run leaves no half model under its name.
func run(shapeName, quantName, vocab, out string, seed uint64) (err error) {
	if out == "" || vocab == "" {
		return errors.New("-o and -vocab are required: name the file to write and the one to take the vocabulary from")
	}
	shape, err := synth.ShapeNamed(shapeName)
	if err != nil {
		return err
	}
	quant, err := synth.QuantNamed(quantName)
	if err != nil {
		return err
	}
	file, err := os.CreateTemp(filepath.Dir(out), filepath.Base(out)+".part-*")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.Remove(file.Name()))
		}
	}()
	buffered := bufio.NewWriterSize(file, 1<<20)
	err = errors.Join(synth.Write(buffered, shape, vocab, quant, seed), buffered.Flush(), file.Chmod(0o644), file.Close())
	if err != nil {
		return err
	}
	return os.Rename(file.Name(), out)
}
