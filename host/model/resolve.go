// SPDX-License-Identifier: MIT

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
