// SPDX-License-Identifier: MIT

// Package helm tests the chart: what it makes of values, whether Kubernetes would take that, and
// whether the program does what the chart expects of it.
package helm

import (
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"helm.sh/helm/v4/pkg/chart/common"
	"helm.sh/helm/v4/pkg/chart/common/util"
	chart "helm.sh/helm/v4/pkg/chart/v2"
	"helm.sh/helm/v4/pkg/chart/v2/loader"
	"helm.sh/helm/v4/pkg/engine"
	"sigs.k8s.io/yaml"
)

const release = "chat"

// values are those of a file in testdata.
func values(t *testing.T, name string) map[string]any {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", name+".yaml"))
	if err != nil {
		t.Fatal(err)
	}
	return parse(t, string(text))
}

func parse(t *testing.T, text string) (values map[string]any) {
	t.Helper()
	if err := yaml.UnmarshalStrict([]byte(text), &values); err != nil {
		t.Fatal(err)
	}
	return values
}

// cases are the names of the files of values.
func cases(t *testing.T) []string {
	t.Helper()
	files, err := filepath.Glob("testdata/*.yaml")
	if err != nil || len(files) < 5 {
		t.Fatalf("%v, %v", files, err)
	}
	for i := range files {
		files[i] = strings.TrimSuffix(filepath.Base(files[i]), ".yaml")
	}
	return files
}

func load(t *testing.T) *chart.Chart {
	t.Helper()
	c, err := loader.Load("penstock")
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Validate(); err != nil {
		t.Fatal(err)
	}
	return c
}

// render does in the namespace models what `helm install` does before it asks a cluster. It
// returns the objects, as texts, and what is said after an installation.
func render(t *testing.T, given map[string]any) (objects []string, notes string, err error) {
	t.Helper()
	return renderAs(t, release, "models", given)
}

func renderAs(t *testing.T, release, namespace string, given map[string]any) (objects []string, notes string, err error) {
	t.Helper()
	c := load(t)
	options := common.ReleaseOptions{Name: release, Namespace: namespace, Revision: 1, IsInstall: true}
	all, err := util.ToRenderValues(c, given, options, common.DefaultCapabilities)
	if err != nil {
		return nil, "", err
	}
	// Strict: a value that a template misspells is an error, and not empty.
	files, err := engine.Engine{Strict: true}.RenderWithContext(t.Context(), c, all)
	if err != nil {
		return nil, "", err
	}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		switch {
		case strings.HasSuffix(name, "NOTES.txt"):
			notes = files[name]
		case strings.HasSuffix(name, ".yaml"):
			objects = append(objects, split(files[name])...)
		case strings.TrimSpace(files[name]) != "":
			t.Errorf("%s renders to %q", name, files[name])
		}
	}
	return objects, notes, nil
}

var (
	between = regexp.MustCompile(`(?m)^---$`)
	comment = regexp.MustCompile(`(?m)^\s*#.*$`)
)

// split takes the documents of a file apart; what has nothing but comments is none.
func split(text string) (documents []string) {
	for _, document := range between.Split(text, -1) {
		if strings.TrimSpace(comment.ReplaceAllString(document, "")) != "" {
			documents = append(documents, document)
		}
	}
	return documents
}

// mustRender renders a file of testdata.
func mustRender(t *testing.T, name string) []string {
	t.Helper()
	objects, _, err := render(t, values(t, name))
	if err != nil {
		t.Fatal(err)
	}
	return objects
}
