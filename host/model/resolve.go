// SPDX-License-Identifier: MIT

package model

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/penstock/penstock/host/library"
)

// File is a model that can be loaded.
type File struct {
	Path    string // to give to llama.cpp
	Name    string // to show: the file's name without .gguf
	BuiltIn bool
	Parts   []string       // the paths of all files of the model, of one that Open has checked
	Lacks   Lacks          // what the model cannot do
	Broken  []BrokenKernel // kernels of the CPU that would have computed with it
	// Template is what to serve the model with instead of its own chat template; zero: with its
	// own.
	Template Template
	NoGPU    error // why layers cannot be computed on the GPU that is there; serve it with none there

	// Projector is the path of the file that lies beside the model, with which it sees or hears;
	// empty: none.
	Projector string

	temp    string    // folder to remove
	gpuNote trialNote // for GPUComputed; empty: no GPU was tried
}

// Close removes what was stored only for this File; the model must not be loaded from it
// afterwards.
func (f *File) Close() error {
	if f.temp == "" {
		return nil
	}
	return os.RemoveAll(f.temp)
}

// Open resolves a MODEL argument, has this process use those of the CPU's kernels that work for
// the file it leads to, and checks it, on the GPU too where layers are to be there.
func Open(ctx context.Context, arg string, o CheckOptions) (*File, error) {
	o = o.withDefaults()
	file, err := Resolve(arg, o)
	if err != nil {
		return nil, err
	}
	if err := file.check(ctx, o); err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return file, nil
}

func (f *File) check(ctx context.Context, o CheckOptions) error {
	in, err := inspect(f.Path)
	if err != nil {
		return err
	}
	f.Parts = in.parts
	machine, err := surveyGPUs(ctx) // before this process meets the GPU's driver
	if err != nil {
		return fmt.Errorf("%w; fix the driver, or build with BACKEND=cpu make build", err)
	}
	if f.Broken, err = useSoundKernels(ctx, in, o); err != nil {
		return err
	}
	if f.Template, err = o.template(f.Path); err != nil {
		return err
	}
	o.found = &f.Template // what is tried is what is used, though the file may change
	if o.usesGPU() {
		o.gpus = machine.gpus()
	}
	if f.Lacks, err = Check(ctx, f.Path, o); err != nil {
		return err
	}
	return f.tryGPU(ctx, in, machine.gpus(), o)
}

// Resolve finds what a MODEL argument means: nothing is the built-in model that reads text; the
// names of the built-in models are those; what looks like a path (it has a separator or ends in
// .gguf) or is an existing file is one; the rest is a name in the model folder.
func Resolve(arg string, o CheckOptions) (*File, error) {
	o = o.withDefaults()
	if arg == "" {
		arg = BuiltInName
	}
	if IsBuiltIn(arg) {
		return openBuiltIn(arg, o.CacheDir)
	}
	if strings.ContainsRune(arg, filepath.Separator) || strings.ContainsRune(arg, '/') || strings.HasSuffix(arg, ".gguf") || isFile(arg) {
		return &File{Path: arg, Name: strings.TrimSuffix(filepath.Base(arg), ".gguf"), Projector: library.ProjectorOf(arg)}, nil
	}
	if path := library.Find(o.Folder, arg); path != "" {
		return &File{Path: path, Name: arg, Projector: library.ProjectorOf(path)}, nil
	}
	return nil, fmt.Errorf("%w: %q is neither a file nor a name in the model folder %s; %s", ErrNotFound, arg, o.Folder,
		library.Advice(arg, library.Stems(o.Folder)))
}

// HasHead reports whether the header of a model's file tells of a head that guesses further tokens.
func HasHead(arg string, o CheckOptions) bool {
	if arg == "" || IsBuiltIn(arg) {
		return false
	}
	file, err := Resolve(arg, o)
	if err != nil {
		return false // which opening it tells
	}
	in, err := inspect(file.Path)
	return errors.Join(err, file.Close()) == nil && in.whole.HasHead()
}

// HeadFile is the path and the architecture of a model that is nothing but a head for another one;
// else both are empty.
func HeadFile(arg string, o CheckOptions) (path, architecture string) {
	if arg == "" || IsBuiltIn(arg) {
		return "", ""
	}
	file, err := Resolve(arg, o)
	if err != nil {
		return "", "" // which opening it tells
	}
	in, err := inspect(file.Path)
	if errors.Join(err, file.Close()) != nil || !in.whole.IsHead() {
		return "", ""
	}
	return file.Path, in.whole.Architecture()
}

func isFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}
