// SPDX-License-Identifier: MIT

// Package model finds model files, holds the built-in model and makes sure that loading a file
// cannot end the process.
//
// # Why do the trials have the options of serving?
//
// Some of them reach assertions of llama.cpp with some models only: a type of the KV cache, a
// split over devices, an override of metadata. The trial on the CPU has those that change what is
// computed; the one with the GPU has all. Weights that main memory cannot hold are tried with the
// GPU from the start, as they will be served: the CPU alone could not. A pattern of
// `--override-tensor` is a `std::regex`, which takes a time that grows fast with the pattern; so
// patterns are bounded, and compiled before a file is opened.
//
// # Why does a child process try the GPU too?
//
// A driver may crash when it lists its devices or compiles a kernel, which ends the process,
// often without a message. So one child lists the devices before this process meets the driver,
// and another computes passes of one, few and many tokens with the model's layers on the GPU. If
// either crashes, refuses or computes no numbers, the GPU is not used: the CPU serves, and the
// log, `penstock doctor` and `/props` say why. A success is remembered for the file, the program,
// the GPUs and the environment variables of their backends, once the GPU has computed in serve
// itself too: a driver that crashes only now and then, and ends serve, is tried by a child again
// at the next start. With `--gpu-layers 0` llama.cpp gets no device at all, since it would
// otherwise compute large passes there.
//
// # What does the trial of a model do, and what does it find?
//
// It computes two short texts token by token, and then again as serving would: a prompt in one
// pass, a text that decodes beside the other's prompt, a truncation, a shared prefix, and a state
// saved and restored, in each layout of cells. The logits must be the same each time. Most of
// llama.cpp's architectures pass all of it. Recurrent and hybrid models cannot truncate, for
// which there are checkpoints. PLaMo 2 aborts when two sequences are in one pass. CogVLM returns
// the logits of a pass's first tokens, whichever were asked for. If the plain computation fails,
// the model is refused. If an exercise crashes or differs, the model is served without that
// ability (host/engine then cuts passes into pieces that the model can take), and the log says
// so. `make archs` compares random models of all architectures with llama-server and writes the
// table in docs/architectures.md.
//
// # What does the trial of a projector do?
//
// It encodes the smallest picture, those of the longest shapes and one of 800 x 600 pixels, and
// sounds of a moment, of a second and of more than the 30 s that most encoders take at once. The
// model computes the embeddings and a token after them, and the logits must be numbers. Pieces of
// one shape are encoded once, so that an encoder of one size takes as long as one picture.
package model

import (
	"bytes"
	"context"
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/penstock/penstock/host/atomicfile"
	"github.com/penstock/penstock/host/library"
	"github.com/penstock/penstock/native/gguf"
)

// What can be wrong with a model. Damaged files give the errors of package native/gguf.
var (
	// ErrNotFound: there is no such file or name.
	ErrNotFound = errors.New("no such model")
	// ErrNotFile: the path leads to a folder or a device.
	ErrNotFile = errors.New("not a file")
	// ErrTooLarge: the weights alone need more memory than there is.
	ErrTooLarge = errors.New("the model is too large for this machine")
	// ErrUnknownArchitecture: llama.cpp has no code for this kind of model.
	ErrUnknownArchitecture = errors.New("llama.cpp does not know the model's architecture")
	// ErrRefused: llama.cpp refuses the file; the text is its reason.
	ErrRefused = errors.New("llama.cpp refuses the model")
	// ErrCrashed: llama.cpp ended the process that tried the file; the text is the last it said.
	ErrCrashed = errors.New("llama.cpp crashes on the model")
	// ErrGPU: what asked for the GPUs, or computed on one, did not come back.
	ErrGPU = errors.New("a GPU or its driver ends the process")
	// ErrTemplate: the chat template cannot be parsed, ends the process, or takes far too long.
	ErrTemplate = errors.New("the model's chat template cannot be used")
	// ErrTimeout: the trial did not end in time.
	ErrTimeout = errors.New("trying the model took too long")
	// ErrNoChild: this program does not have the command of Child.
	ErrNoChild = errors.New("this program cannot try models")
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
	_, h := headerOf(arg, o)
	return h != nil && h.HasHead()
}

// HeadFile is the path of a model that is nothing but a head for another one, and llama-server's
// name for what it does; else both are empty.
func HeadFile(arg string, o CheckOptions) (path, kind string) {
	path, h := headerOf(arg, o)
	if h == nil || h.HeadType() == "" {
		return "", ""
	}
	return path, h.HeadType()
}

// headerOf is the path of a model's file and its header; nil: the model is built in, or it cannot
// be read, which opening it tells.
func headerOf(arg string, o CheckOptions) (path string, h *gguf.Header) {
	if arg == "" || IsBuiltIn(arg) {
		return "", nil
	}
	file, err := Resolve(arg, o)
	if err != nil {
		return "", nil
	}
	in, err := inspect(file.Path)
	if errors.Join(err, file.Close()) != nil {
		return "", nil
	}
	return file.Path, in.whole
}

func isFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}

// The names of the built-in models, where names are shown. The second one sees.
const (
	BuiltInName       = "penstock-tiny"
	BuiltInVisionName = "penstock-tiny-vision"
)

//go:embed penstock-tiny.gguf
var builtIn []byte

//go:embed penstock-tiny-vision.gguf
var builtInVision []byte

//go:embed mmproj-penstock-tiny-vision.gguf
var builtInProjector []byte

// builtInFile is one of the files that the binary holds.
type builtInFile struct {
	name string
	data []byte
}

// builtIns are the files of the built-in models: the model's, then its projector's if it has one.
var builtIns = map[string][]builtInFile{
	BuiltInName:       {{BuiltInName, builtIn}},
	BuiltInVisionName: {{BuiltInVisionName, builtInVision}, {"mmproj-" + BuiltInVisionName, builtInProjector}},
}

// IsBuiltIn reports whether a MODEL argument names a built-in model.
func IsBuiltIn(arg string) bool { return builtIns[arg] != nil }

// BuiltInHeader is the header of a built-in model's file.
func BuiltInHeader(name string) (*gguf.Header, error) {
	data := builtIns[name][0].data
	return gguf.Read(bytes.NewReader(data), int64(len(data)))
}

// openBuiltIn puts a built-in model where llama.cpp, which opens models by path, can map it: into
// the cache folder, or into a temporary folder where that cannot be written.
func openBuiltIn(name, cacheDir string) (*File, error) {
	file, uncached := cacheBuiltIn(name, cacheDir)
	if uncached == nil {
		return file, nil
	}
	dir, err := os.MkdirTemp("", "penstock-")
	if err != nil {
		return nil, fmt.Errorf("storing the built-in model, which llama.cpp reads from a file, neither in the cache folder (%w) nor in the temporary folder (%w); "+
			"name a folder that can be written with XDG_CACHE_HOME or TMPDIR, or serve a model of your own", uncached, err)
	}
	file = &File{Name: name, BuiltIn: true, temp: dir}
	for _, f := range builtIns[name] {
		path := filepath.Join(dir, f.name+".gguf")
		if err := writeFile(path, f.data); err != nil {
			return nil, errors.Join(fmt.Errorf("storing the built-in model: %w", err), file.Close())
		}
		file.add(path)
	}
	return file, nil
}

// add sets the path of the model, or once it has one the path of its projector.
func (f *File) add(path string) {
	if f.Path == "" {
		f.Path = path
	} else {
		f.Projector = path
	}
}

// cacheBuiltIn puts a built-in model into the cache folder, if there is one.
func cacheBuiltIn(name, cacheDir string) (*File, error) {
	if cacheDir == "" {
		return nil, errors.New("this user has none")
	}
	file := &File{Name: name, BuiltIn: true}
	for _, f := range builtIns[name] {
		sum := sha256.Sum256(f.data)
		path := filepath.Join(cacheDir, "models", fmt.Sprintf("%s-%s.gguf", f.name, hex.EncodeToString(sum[:6])))
		if have, err := os.ReadFile(path); err != nil || !bytes.Equal(have, f.data) {
			if err := writeFile(path, f.data); err != nil {
				return nil, err
			}
		}
		file.add(path)
	}
	return file, nil
}

// writeFile writes a file in a folder that is the user's alone.
func writeFile(path string, data []byte) error {
	folder := filepath.Dir(path)
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return err
	}
	_ = atomicfile.RemoveLeftovers(folder) // of starts that were killed; they only take room
	_, err := atomicfile.WriteBytes(path, 0o600, data)
	return err
}
