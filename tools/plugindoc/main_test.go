// SPDX-License-Identifier: MIT

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
	"github.com/penstock/penstock/tools/must"
)

func TestPages_AreCommitted(t *testing.T) {
	for name, sdk := range sdks {
		want := must.Get(sdk.page("../.."))(t)
		got := must.Get(os.ReadFile(filepath.Join("../..", name)))(t)
		if diff := cmp.Diff(want, string(got)); diff != "" {
			t.Errorf("%s is not what the SDK's source gives; run make generate:\n%s", name, diff)
		}
	}
}

// inRust are modules as the SDK has them.
var inRust = fstest.MapFS{
	"lib.rs": {Data: []byte("mod tree;\npub mod host;\npub mod testing;\npub use tree::{Leaf, Tree};\n\n/// Logs.\n#[macro_export]\nmacro_rules! log {\n    () => {};\n}\n")},
	"host.rs": {Data: []byte(`/// How many
/// there are. More than [` + "`crate::Tree`" + `] has.
pub fn count(
    mut least: i32,
) -> usize {
    counted(least)
}

fn counted(least: i32) -> usize {
    unsafe { abi::vocab_size() }
}
`)},
	"tree.rs": {Data: []byte(`/// A tree.
#[derive(Debug)]
pub struct Tree<'a> {
    /// Its height.
    pub height: usize,
    hidden: usize,
}

pub enum Leaf {
    Green,
    Brown(Vec<(u32, f32)>),
    /// None.
    Gone = 3,
}

pub struct Inner;

impl<'a> Tree<'a> {
    /// Grows.
    pub fn grow(&mut self) {}

    pub(crate) fn rot(&mut self) {}

    #[cfg(not(target_arch = "wasm32"))]
    pub fn native(&self) {}
}

impl Drop for Tree<'_> {
    fn drop(&mut self) {}
}

#[cfg(test)]
mod tests {
    pub fn tested() {}
}
`)},
	"testing/mod.rs": {Data: []byte("pub fn open() {}\n")},
}

// What a plugin can name has a row, with its module, its first sentence and its import.
func TestReadRust_FindsWhatIsPublic(t *testing.T) {
	items := must.Get(readRust(inRust))(t)
	index := map[string]item{}
	for _, i := range items {
		index[i.source+"#"+i.name] = i
	}
	var got []string
	for _, i := range items {
		if !i.hidden {
			got = append(got, strings.Join([]string{i.signature, sentences(i.comment), facts(i, index)}, " | "))
		}
	}
	want := []string{
		"host::count(least: i32) -> usize | How many there are | [`vocab_size`](../abi/v1.md#vocab_size)",
		"log!(…) | Logs | ",
		"type Tree | A tree | ",
		"Tree::height: usize | Its height | ",
		"type Leaf |  | ",
		"Leaf::Green |  | ",
		"Leaf::Brown(Vec<(u32, f32)>) |  | ",
		"Leaf::Gone | None | ",
		"Tree::grow(&mut self) | Grows | ",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
