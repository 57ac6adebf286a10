// SPDX-License-Identifier: MIT

// Command synthgguf writes a model file with random weights for measuring speed, or a LoRA
// adapter, a control vector or a projector for a model.
package main

import (
	"bufio"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/penstock/penstock/native/gguf/synth"
)

func main() {
	shape := flag.String("shape", "135m", "135m, 0.5b, 1b, 8b, moe, a mixture of experts, loop, a 135m whose greedy text repeats itself, loop1b, a 1b like that with a head, or shallow, a third of 135m's layers")
	right := flag.Uint64("right", 100, "of a hundred tokens, how many the head of a loop guesses rightly")
	head := flag.Bool("head", true, "with -shape loop1b, have a head in its file")
	blocks := flag.String("blocks", "", "write a head that guesses blocks (DSpark) for this model instead, which is of -shape loop1b and -head=false")
	quant := flag.String("quant", "Q4_0", "Q4_0 or Q8_0")
	vocab := flag.String("vocab", "", "GGUF file whose vocabulary is used (required for a model); llama.cpp has some under models/")
	lora := flag.String("lora", "", "write a LoRA adapter for this model instead")
	vector := flag.String("control-vector", "", "write a control vector for this model instead")
	media := flag.String("media", "", "write a small text model and this projector for it into the folder -o instead: gemma3, qwen2vl_merger, mlp+ultravox, ...")
	siglip := flag.String("siglip", "", "write a projector of this kind on a tower of the shape of SigLIP so400m instead: idefics3 or gemma3")
	dim := flag.Uint64("dim", 576, "width of the text model of -siglip")
	deviation := flag.Float64("deviation", 0.01, "standard deviation of an adapter's or control vector's numbers")
	seed := flag.Uint64("seed", 1, "seed of the weights")
	out := flag.String("o", "", "file to write (required)")
	flag.Parse()
	write := func(w io.Writer) error { return model(w, *shape, *head, uint32(*right), *quant, *vocab, *seed) }
	switch {
	case *blocks != "":
		write = func(w io.Writer) error { return blocksFor(w, *blocks, *shape, uint32(*right), *seed) }
	case *lora != "":
		write = synth.Adapter{Model: *lora, Seed: *seed, Deviation: *deviation}.Write
	case *vector != "":
		write = func(w io.Writer) error { return synth.ControlVector(w, *vector, *seed, *deviation) }
	}
	err := error(nil)
	switch {
	case *media != "":
		err = pair(*out, *media, *seed)
	case *siglip != "":
		err = synth.WriteSigLIP(*out, *siglip, *dim, *seed)
	case *shape == "gemma3-12b":
		err = sparse(*out, *vocab)
	default:
		err = store(*out, write)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "synthgguf:", err)
		os.Exit(1)
	}
}

// pair writes a small model and its projector, and prints their paths.
func pair(folder, projector string, seed uint64) error {
	var known []string
	for _, p := range synth.MediaPairs {
		if p.Projector == projector {
			model, encoder, err := p.WriteFiles(folder, seed)
			fmt.Printf("%s\n%s\n", model, encoder)
			return err
		}
		known = append(known, p.Projector)
	}
	return fmt.Errorf("-media is %q; it must be one of %s", projector, strings.Join(known, ", "))
}

// sparse writes a model without weights.
func sparse(out, vocab string) error {
	h, err := synth.Gemma12B(vocab)
	if err != nil {
		return err
	}
	return synth.SparseFile(out, h)
}

// blocksFor writes a head that guesses blocks for a loop.
func blocksFor(w io.Writer, path, shapeName string, right uint32, seed uint64) error {
	shape, err := synth.ShapeNamed(shapeName)
	if err != nil {
		return err
	}
	shape.Right = right
	return synth.WithBlocks(w, path, shape, seed)
}

// model writes a model.
func model(w io.Writer, shapeName string, head bool, right uint32, quantName, vocab string, seed uint64) error {
	if vocab == "" {
		return errors.New("-vocab is required: name the file to take the vocabulary from")
	}
	shape, err := synth.ShapeNamed(shapeName)
	if err != nil {
		return err
	}
	if shape.Right = right; !shape.Head || !head {
		shape.Head, shape.Right = false, 0
	}
	quant, err := synth.QuantNamed(quantName)
	if err != nil {
		return err
	}
	return synth.Write(w, shape, vocab, quant, seed)
}

// store writes beside the target and renames, so that an interrupted run leaves no half file under
// its name.
func store(out string, write func(io.Writer) error) (err error) {
	if out == "" {
		return errors.New("-o is required: name the file to write")
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
	err = errors.Join(write(buffered), buffered.Flush(), file.Chmod(0o644), file.Close())
	if err != nil {
		return err
	}
	return os.Rename(file.Name(), out)
}
