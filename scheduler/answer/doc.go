// SPDX-License-Identifier: MIT

// Package answer turns the tokens that are drawn for one request into its answer: which text may
// be shown, what is taken back, and when it ends.
//
// advance.go takes a token into the answer, splice.go replaces tokens, takenback.go has traces
// tell of it, text.go finds the text that may be shown. An answer knows nothing of streams and the
// KV cache: what is to be done there is in its Output. Its caller sees to it that calls do not
// overlap.
//
// # Why is what a plugin could still have taken back not shown when the deadline comes?
//
// Until a token leaves the hold window, the plugin may put another in its place: a banned phrase
// may be half written there. Where the answer reaches max_tokens the window is final, as the
// interface promises. An answer that is ended from outside, or fails, was not finished by its
// plugin. What was not shown does not count as generated either.
//
// # Why does a token's trace tell what was taken back before it?
//
// A plugin such as banned-phrases takes tokens back while they are still in the hold window. No
// client ever sees them, so no event stands for them, and without more the trace of the next
// token would only show that something likely was banned. The traces of the tokens in the window
// are there anyway; the trace of the token that comes instead takes them over. The list stays
// flat however often a stage tries in one place, and the last 16 tokens keep their own trace, so
// a frame stays bounded.
//
// # Why is the token's place looked up when it is known?
//
// Early stages leave tens of thousands of candidates, and the chosen one need not be among the
// best ten. scheduler/chain/survey.go keeps what each stage left until the end and looks the
// token up there. Most stages of a usual chain change nothing, and share one survey.
//
// # Why do a plugin's values stay when tokens are taken back?
//
// The client has them already, and only the plugin knows which of them still hold. Each says how
// many tokens the answer had, and over the WebSocket a rewound frame says what went.
//
// # Why do no stages run between the tokens of a forced run?
//
// They could decide nothing: the next token is known (those whose masks bind others prepare these,
// and nothing else). All of a run is tested against the grammar before any of it is accepted, every
// plugin accepts each token, and one forward pass computes them together: 20 tokens take one pass,
// not 20. A splice ends the run, since the rest was meant to follow tokens that the splice has
// removed.
//
// # Why is a stop rule started again where text was taken back?
//
// A rule that counts sentences counted those that a user had taken back, and ended the answer
// early. It could ask for the text instead, and may (text), but a rule that nobody thought twice
// about must be right, too. So the host keeps what it has shown the rule and shows it to a fresh
// instance, at the same places between the calls of accept. What the rule answers then is not
// obeyed, since the client has seen the text; only what it holds back is taken over, because a
// later answer counts from there.
package answer
