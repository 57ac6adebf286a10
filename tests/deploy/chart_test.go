// SPDX-License-Identifier: MIT

package deploy

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/penstock/penstock/tools/must"
	"go.yaml.in/yaml/v3"
)

const chart = "../../deploy/helm"

// The chart is the one whose objects `make test-chart` has had Kubernetes validate, and stored.
func TestChart_IsTheOneThatWasTested(t *testing.T) {
	var files []string
	for _, pattern := range []string{"testdata/*.yaml", "go.mod", "penstock/*.*", "penstock/templates/*.*", "penstock/templates/*/*.*"} {
		found, err := filepath.Glob(filepath.Join(chart, pattern))
		if err != nil || len(found) == 0 {
			t.Fatalf("%s: %v", pattern, err)
		}
		files = append(files, found...)
	}
	slices.Sort(files)
	hash := sha256.New()
	for _, path := range files {
		text := must.Get(os.ReadFile(path))(t)
		fmt.Fprintf(hash, "%s %x\n", strings.TrimPrefix(path, chart+"/"), sha256.Sum256(text))
	}
	if want, err := os.ReadFile(chart + "/testdata/rendered/sum"); err != nil || string(want) != fmt.Sprintf("%x\n", hash.Sum(nil)) {
		t.Errorf("the chart or its cases have changed (%v): run `make test-chart ARGS=-update`", err)
	}
}

// manifest is what these tests read of a Kubernetes object.
type manifest struct {
	Data map[string]string
	Spec struct {
		pod      `yaml:",inline"` // a Pod's own
		Template struct{ Spec pod }
	}
}

type pod struct {
	InitContainers []container `yaml:"initContainers"`
	Containers     []container
}

type container struct {
	Args []string
	Env  []struct {
		Name, Value string
		ValueFrom   any `yaml:"valueFrom"`
	}
}

// inContainer are the folders that the chart names.
var inContainer = regexp.MustCompile(`(^|[\s"'=,:])(/(?:etc/penstock|var/lib|var/cache|models|run/penstock|tmp)\b)`)

// The program takes the arguments, the variables and the configuration of the stored objects.
func TestChart_ProgramTakesWhatItRenders(t *testing.T) {
	files, err := filepath.Glob(chart + "/testdata/rendered/*.yaml")
	if err != nil || len(files) < 5 {
		t.Fatalf("%v, %v", files, err)
	}
	for _, path := range files {
		t.Run(filepath.Base(path), func(t *testing.T) { takes(t, path) })
	}
}

func takes(t *testing.T, path string) {
	program := must.Get(filepath.Abs("../../bin/penstock"))(t)
	text := must.Get(os.ReadFile(path))(t)
	root := t.TempDir()
	decoder := yaml.NewDecoder(bytes.NewReader(inContainer.ReplaceAll(text, []byte("${1}"+root+"${2}"))))
	var containers []container
	for {
		var o manifest
		if err := decoder.Decode(&o); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		for name, text := range o.Data {
			must.Do(t, os.MkdirAll(root+"/etc/penstock", 0o700))
			must.Do(t, os.WriteFile(filepath.Join(root, "etc/penstock", name), []byte(text), 0o600))
		}
		for _, p := range []pod{o.Spec.pod, o.Spec.Template.Spec} {
			containers = append(append(containers, p.InitContainers...), p.Containers...)
		}
	}
	serves := 0
	for _, c := range containers {
		args := append(slices.Clone(c.Args), "--help")
		if c.Args[0] == "serve" {
			serves++
			args = append([]string{"config", "print"}, c.Args[1:]...)
		}
		command := exec.Command(program, args...)
		command.Dir, command.Env = root, []string{} // nil would be this process's variables
		for _, v := range c.Env {
			if v.ValueFrom != nil {
				v.Value = "a-secret"
			}
			command.Env = append(command.Env, v.Name+"="+v.Value)
		}
		if said, err := command.CombinedOutput(); err != nil {
			t.Errorf("%q: %v: %s", args, err, said)
		}
	}
	if serves != 1 {
		t.Errorf("%d containers serve", serves)
	}
}
