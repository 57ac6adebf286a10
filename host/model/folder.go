// SPDX-License-Identifier: MIT

package model

import (
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"

	"github.com/penstock/penstock/host/spelling"
)

// DefaultFolder is where models live unless configured: penstock/models in the user's data folder. It is empty where the
// system names no home.
func DefaultFolder() string {
	if dir := os.Getenv("XDG_DATA_HOME"); filepath.IsAbs(dir) {
		return filepath.Join(dir, "penstock", "models")
	}
	if runtime.GOOS == "windows" {
		if dir := os.Getenv("LocalAppData"); dir != "" {
			return filepath.Join(dir, "penstock", "models")
		}
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return ""
	}
	return filepath.Join(home, ".local", "share", "penstock", "models")
}

// DefaultCache is the cache folder unless configured: penstock in the user's cache folder. It is empty where the system
// names none.
func DefaultCache() string {
	dir, err := os.UserCacheDir()
	if err != nil {
		return ""
	}
	return filepath.Join(dir, "penstock")
}

// A model in several files is named after the first: NAME-00001-of-00003.gguf.
var part = regexp.MustCompile(`-(\d{5})-of-(\d{5})$`)

// List returns the names of the models in a folder, sorted: files ending in .gguf without that ending, and without the
// number of the part. A folder that does not exist holds none.
func List(folder string) []string {
	var names []string
	for _, name := range fileNames(folder) {
		if m := part.FindStringSubmatch(name); m != nil {
			if m[1] != "00001" {
				continue
			}
			name = strings.TrimSuffix(name, m[0])
		}
		names = append(names, name)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// fileNames are the model files of a folder, without .gguf.
func fileNames(folder string) []string {
	entries, err := os.ReadDir(folder)
	if err != nil {
		return nil
	}
	var names []string
	for _, e := range entries {
		if name, ok := strings.CutSuffix(e.Name(), ".gguf"); ok && !e.IsDir() {
			names = append(names, name)
		}
	}
	return names
}

// find returns the path of a model in a folder, empty if it has none of that name.
func find(folder, name string) string {
	for _, file := range fileNames(folder) {
		stem := file
		if m := part.FindStringSubmatch(file); m != nil && m[1] == "00001" {
			stem = strings.TrimSuffix(file, m[0])
		}
		if file == name || stem == name {
			return filepath.Join(folder, file+".gguf")
		}
	}
	return ""
}

// near returns the names most like a wrong one: those that contain it, lie in it or differ in few letters.
func near(name string, names []string) []string {
	wanted := strings.ToLower(name)
	var out []string
	for _, n := range names {
		lower := strings.ToLower(n)
		if strings.Contains(lower, wanted) || strings.Contains(wanted, lower) || spelling.Distance(wanted, lower) <= 1+len(wanted)/4 {
			out = append(out, n)
		}
	}
	return out
}
