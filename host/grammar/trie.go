// SPDX-License-Identifier: MIT

package grammar

// trie is the texts of tokens, which share their beginnings. Its nodes stand in the order of the
// texts, each before those that go on after it.
type trie struct {
	nodes  []trieNode
	tokens []int32 // in the order of the nodes
	depth  int     // bytes of the longest text
}

type trieNode struct {
	skip  uint32 // the node after all that go on after this one
	first uint32 // of tokens: those that end here, up to the next node's first
	depth uint16 // bytes before this one's
	label byte
}

// newTrie makes the trie of tokens that are sorted by their pieces, of which none is empty.
func newTrie(pieces [][]byte, sorted []int32) trie {
	var t trie
	var path []uint32 // the nodes of the last text
	for _, token := range sorted {
		piece := pieces[token]
		shared := 0
		for shared < len(path) && shared < len(piece) && t.nodes[path[shared]].label == piece[shared] {
			shared++
		}
		t.close(path[shared:])
		path = path[:shared]
		for i := shared; i < len(piece); i++ {
			path = append(path, uint32(len(t.nodes)))
			t.nodes = append(t.nodes, trieNode{first: uint32(len(t.tokens)), depth: uint16(i), label: piece[i]})
		}
		t.tokens = append(t.tokens, token)
		t.depth = max(t.depth, len(piece))
	}
	t.close(path)
	t.nodes = append(t.nodes, trieNode{first: uint32(len(t.tokens))}) // so that each has one after it
	return t
}

func (t *trie) close(path []uint32) {
	for _, i := range path {
		t.nodes[i].skip = uint32(len(t.nodes))
	}
}
