// SPDX-License-Identifier: MIT

package chain

// Outputter is a stage that may have values for the client, besides what it does to the text. It stays as long as the answer goes on.
type Outputter interface {
	// Outputs returns what the stage has given since the last call. It may be called after the stage has failed.
	Outputs() []Output
}

// Output is a value for the client.
type Output struct {
	By     string // name of the stage
	Tokens int    // that the answer had when the value was given
	Value  []byte // compact JSON
}

// Outputs are what the stages have given since the last call, in the order of the chain.
func (c *Chain) Outputs() (all []Output) {
	for _, o := range c.outputters {
		all = append(all, o.Outputs()...)
	}
	return all
}

func outputters(stages []Stage) (list []Outputter) {
	for _, s := range stages {
		if o, ok := s.(Outputter); ok {
			list = append(list, o)
		}
	}
	return list
}
