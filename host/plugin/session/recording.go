// SPDX-License-Identifier: MIT

package session

// Recording is a request that was recorded with its answers.
type Recording struct {
	ID      string   `json:"id"`
	Created int64    `json:"created"` // in seconds since 1970
	Model   string   `json:"model"`
	Choices []Choice `json:"choices"`
}

// Choice is one answer of a recording, as its client got it.
type Choice struct {
	Seed   uint32   `json:"seed"`
	Tokens []Chosen `json:"tokens"`
	Text   string   `json:"text"`
	Reason string   `json:"finish_reason"`
	Error  string   `json:"error,omitempty"`
}

// Chosen is a token of an answer, and who put it there.
type Chosen struct {
	Token Token  `json:"token"`
	Text  Text   `json:"text"`
	By    string `json:"by"`  // samplers, client or plugin:NAME
	How   string `json:"how"` // chosen, forced, spliced, injected, or forked: the answer began with it
}

// origin is who put a token to a position of a conversation, and how.
type origin struct {
	token   Token
	by, how string
}

// Attribute says of each token of an answer whether a plugin has put it there, as its session
// tells. The answer begins at a position of the conversation. What the client has put there stays.
func Attribute(tokens []Chosen, from int, sessions []Session) {
	for i := range sessions {
		for at, o := range sessions[i].origins() {
			if n := at - from; n >= 0 && n < len(tokens) && tokens[n].Token == o.token && tokens[n].By != "client" {
				tokens[n].By, tokens[n].How = o.by, o.how
			}
		}
	}
}

// origins are the tokens that the plugin has put into the conversation and that are there at the
// end, by position.
func (s *Session) origins() map[int]origin {
	asked, came := map[int]origin{}, map[int]origin{}
	name := "plugin:" + s.Plugin.Name
	length := len(s.Request.Prompt)
	for i := range s.Calls {
		c := &s.Calls[i]
		switch c.Call {
		case CallOpen:
			length += len(c.Tokens)
		case CallPrepare:
			clear(asked)
			for j, t := range c.Force {
				asked[length+j] = origin{t, name, "forced"}
			}
		case CallSample:
			if c.Answer != nil && *c.Answer >= 0 {
				asked[length] = origin{*c.Answer, name, "chosen"}
			}
		case CallAccept:
			delete(came, length)
			if o, ok := asked[length]; ok && o.token == *c.Token {
				came[length] = o
			}
			length++
			if c.Splice != nil {
				length -= c.Splice.Backtrack
				clear(asked)
				for j, t := range c.Splice.Tokens {
					asked[length+j] = origin{t, name, "spliced"}
				}
			}
		case CallStep, CallRun:
			for _, t := range c.shows(s.Choice) {
				came[length] = origin{t, name, "chosen"}
				length++
			}
		case CallRewind:
			length = *c.Keep + len(c.Tokens)
		}
	}
	for at := range came {
		if at >= length {
			delete(came, at)
		}
	}
	return came
}
