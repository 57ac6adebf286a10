// SPDX-License-Identifier: MIT

package recording

import "github.com/penstock/penstock/host/plugin/session"

// origin is who put a token to a position of a conversation, and how.
type origin struct {
	token   session.Token
	by, how string
}

// attribute says of each token of an answer whether a plugin has put it there, as its session
// tells. The answer begins at a position of the conversation. What the client has put there stays.
func attribute(tokens []session.Chosen, from int, sessions []session.Session) {
	for i := range sessions {
		for at, o := range originsIn(&sessions[i]) {
			if n := at - from; n >= 0 && n < len(tokens) && tokens[n].Token == o.token && tokens[n].By != "client" {
				tokens[n].By, tokens[n].How = o.by, o.how
			}
		}
	}
}

// originsIn are the tokens that the plugin has put into the conversation and that are there at the
// end, by position.
func originsIn(s *session.Session) map[int]origin {
	asked, came := map[int]origin{}, map[int]origin{}
	name := "plugin:" + s.Plugin.Name
	length := len(s.Request.Prompt)
	for i := range s.Calls {
		c := &s.Calls[i]
		switch c.Call {
		case session.CallOpen:
			length += len(c.Tokens)
		case session.CallPrepare:
			clear(asked)
			for j, t := range c.Force {
				asked[length+j] = origin{t, name, "forced"}
			}
		case session.CallSample:
			if c.Answer != nil && *c.Answer >= 0 {
				asked[length] = origin{*c.Answer, name, "chosen"}
			}
		case session.CallAccept:
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
		case session.CallStep, session.CallRun:
			for _, t := range c.Shows(s.Choice) {
				came[length] = origin{t, name, "chosen"}
				length++
			}
		case session.CallRewind:
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
