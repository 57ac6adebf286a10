// SPDX-License-Identifier: MIT

package exports

import (
	"bytes"
	"go/ast"
	"go/token"
	"os"
	"os/exec"
	"path"
	"slices"
	"strconv"
	"strings"
)

// dependency is a package that a file imports.
type dependency struct {
	path  string
	known bool // the file itself says the name; otherwise the package does
}

// importsBy are the imports of a file that may have a name, the likeliest first. The name is "."
// for those whose names are the file's own.
func importsBy(name string, file *ast.File) (likely []dependency) {
	for _, i := range file.Imports {
		of, err := strconv.Unquote(i.Path.Value)
		switch {
		case err != nil:
		case i.Name != nil && i.Name.Name == name:
			return []dependency{{of, true}}
		case i.Name == nil && path.Base(of) == name:
			likely = slices.Insert(likely, 0, dependency{of, false})
		case i.Name == nil && name != "." && !strings.HasPrefix(of, SDK): // the SDK's are called as their folders
			likely = append(likely, dependency{of, false})
		}
	}
	return likely
}

// other is the package of an import path, which the type at a place needs; nil where it is one of
// Go's own. None of these has a method for an extension point, though time.Timer's Stop has the
// name of one.
func (p *plugin) other(path string, at token.Pos) (*plugin, error) {
	if found, ok := p.others[path]; ok {
		return found, nil
	}
	cmd := exec.Command("go", "list", "-e", "-find", "-f", "{{.Standard}} {{.Dir}}", "--", path)
	cmd.Dir, cmd.Env = p.root, append(os.Environ(), "GOWORK=off") // as in the build
	var said, wrong bytes.Buffer
	cmd.Stdout, cmd.Stderr = &said, &wrong
	err := cmd.Run()
	standard, folder, _ := strings.Cut(strings.TrimSpace(said.String()), " ")
	switch {
	case err != nil:
		return nil, p.finding(at, "Go cannot say where the package %s is, whose methods this type may have (%v): %s", path, err, bytes.TrimSpace(wrong.Bytes()))
	case standard == "true":
		p.others[path] = nil
		return nil, nil
	case folder == "":
		return nil, p.finding(at, "the package %s, whose methods this type may have, is not there; get it with `go get %s`", path, path)
	}
	found := &plugin{root: p.root, folder: folder, files: p.files, others: p.others}
	if err := found.parse(); err != nil {
		return nil, err
	}
	if len(found.syntax) == 0 {
		return nil, p.finding(at, "the package %s, whose methods this type may have, has no file that a build for WebAssembly takes", path)
	}
	p.others[path] = found
	return found, nil
}
