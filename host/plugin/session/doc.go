// SPDX-License-Identifier: MIT

// Package session records what a plugin was asked and what it answered, and makes the same calls
// again without a model.
//
// A session is what one plugin was asked in one request, and what it answered. Sessions come from
// requests with "record": true, and from people who write them by hand. In both cases the player
// makes the calls again under the real runtime and finds the first that comes out differently.
//
// # The format
//
// A file is one JSON object, or gzip of it. What follows is all of it; a field that is not listed
// is an error. Tokens are numbers. A text or a piece is a string, or {"base64": "…"} where it is
// no UTF-8. A logit is a number or "-inf" ("inf" and "nan" are read too, for answers that are
// faults); a list of logits is an array, or a string: base64 of little-endian 32-bit floats.
// Fields that are empty may be left out.
//
//	{
//	  "penstock_session": 1,                     the version of the format
//	  "note": "…",                               anything
//	  "vocabulary": {
//	    "pieces": ["<s>", "a", {"base64":"/w=="}],        of tokens 0, 1, …: the bytes that each shows
//	    "attributes": {"control": [0], "end": [0]},       tokens by attribute: control, end, byte, unused
//	    "special": {"bos": 0, "eos": 0},                  bos, eos, eot, newline; those that there are
//	    "longest_piece": true                             how tokenize answers where a session does not say: the longest piece
//	  },                                                  that fits, again and again; without it such a question is a difference
//	  "model": {"name": "tiny", …},              what the import request tells of the model
//	  "table": [],                               the made-up model of each session with a run that has no model; see below
//	  "sessions": [{
//	    "name": "TestMinP",                      of the test or case
//	    "choice": 0,                             of a recording: which answer the plugin was at work in
//	    "plugin": {"name": "min-p", "sha256": "…"},       sha256 of the module; may be left out
//	    "request": {
//	      "config": {}, "messages": [],          JSON as the plugin gets it; messages for templates, and for filters that rewrote them
//	      "media": [],                           what the import media tells of pictures and sounds
//	      "prompt": [0, 1],                      tokens; -1 is a row of a picture or a sound, wherever a plugin reads or gives tokens
//	      "max_tokens": 16, "context_size": 4096, "seed": 7,
//	      "place": 0,                            of the plugin among those of the request; random numbers depend on it
//	      "time": 1790000000000,                 when it came, in milliseconds since 1970; left out: the plugin is not told
//	      "choice": 0, "choices": 1,             which of the answers to its prompt, and how many there are
//	      "sampling": {}                         what the import request tells of the sampling parameters, when the answer begins
//	    },
//	    "model": [],                             a made-up model that a program runs on; see below
//	    "templates": [{"messages": [], "tokens": []}],    what the model's template makes of messages for a program, with a model
//	    "warm": [],                              what the plugin did when it was loaded, as in "deeds" below
//	    "plan": [],                              what it did when it planned for the configuration
//	    "calls": [],                             in their order; see below
//	    "cut": "…"                               why the calls end before the answer did
//	  }],
//	  "recording": {                             the request whose sessions these are, if it was a host's with "record": true
//	    "id": "rec_…", "created": 1790000000, "model": "tiny",
//	    "choices": [{"seed": 7, "text": "…", "finish_reason": "stop", "error": "…",
//	                 "tokens": [{"token": 5, "text": "a", "by": "plugin:min-p", "how": "chosen"}]}]
//	  }                                          by: samplers, client, or a plugin; how: chosen, forced, spliced, injected, forked
//	}
//
// # Calls
//
// A call has the name of what happened in "call", what went in, and what came out. Nothing follows
// a fault or a refusal. Of what came out, only what is there is compared: a person may write down
// the token that counts and nothing else. "answer" is always the number that the export returned.
//
//	open         in: tokens (of the answer so far, where it is not empty); out: refusal, declined
//	prepare      out: answer; with its bits mask, bias, force
//	sample       in: ids and logits of the candidates, best first; logits alone: the whole row; neither: a plugin that sees none
//	             out: answer; if it is −1, left: what the view holds then; if it is −2147483648, bias
//	accept       in: token, and logprob where that is known; out: answer; if it is 2, splice
//	stop         in: token, text; out: answer
//	rewind       in: keep, how many tokens of the conversation stay, prompt included; tokens that follow them, if any
//	stop_rewind  in: count, how many tokens that were shown to stop were taken back, and bytes, how much text. Recordings have it before the
//	             rewind where another plugin's hold may keep text from stop; elsewhere a rewind takes back the text of its tokens
//	filter       in: text that is about to be shown, and last at the end of the answer; out: filtered, the text that is shown in the place
//	             of it and of what was kept back before
//	unfilter     in: count, how many of the calls of filter do not stand any more. Recordings have it before the rewind; elsewhere a rewind
//	             does it for the calls after the tokens that it takes back
//	render       out: prompt, or refusal. A session of a template has this one call, and no open
//	messages     out: messages, the conversation as the plugin has made it, or refusal. It is the one call of its session, too
//	refuse       out: fault. The request did not allow what the plugin asked for; nothing follows
//	step         of a program, after open: what it did up to a wait, or before much had been done
//	run          its last step: what it did after its last wait; out: answer, or refusal. Where there is none, the request ended before
//
//	"mask"     {"allow": [tokens]}, {"ban": [tokens]}, or {"bits": base64 of the ABI's little-endian words}; {} allows all
//	"bias"     [[token, amount], …] as the plugin wrote them
//	"force"    [tokens] that come next
//	"left"     {"ids": […], "logits": […]} as the plugin left them, all of them, in its order; of a row {"logits": […]}, or
//	           {"sha256": "…", "ids": […], "logits": […]}: the digest of its little-endian floats, and its best entries for the reader
//	"splice"   {"backtrack": 1, "tokens": […]}
//	"deeds"    calls of host functions whose answers a player cannot compute, in order: those that the ABI's table has recorded.
//	           {"do": "branch_append", "args": [0, 2, 0], "tokens": [5, 6], "answer": 12, "fuel": 128}
//	           In went args, the parameters but for addresses, and what lay in memory: tokens (of branches_wait and branch_mix handles), numbers,
//	           text, or of a mask its sha256. Out came answer, and in "got" what was written to memory: tokens, numbers, text, and the mask that
//	           a grammar filled. Of branch_candidates the numbers are the log-sum-exp, the entropy and the logits. error is why the host had no
//	           answer. fuel is what it took, added what a wait brought. failed: it has ended the call by its fault.
//	           What did not fit is not there, but for tokenize and prompt. The import request is there where the sampling parameters are no more
//	           what they were when the answer began. A player gives the plugin what came out, and compares what went in
//	"outputs"  JSON values that the call handed to output
//	"refusal"  the reason
//	"declined" the exports that the plugin has and has declined in this request, as in ["penstock_sample"]
//	"fault"    {"export": "penstock_sample", "kind": "trap", "detail": "…"}; kinds as in metrics. Nothing follows it
//	"asked"    how files of earlier versions have deeds of plugins that are no programs: {"import": "tokenize", "text": …, "flags": 0, "tokens": […]}
//	           and so on. They are read as deeds (read.go has the fields). A handle of −2147483648 in "args" is one that the file does not
//	           tell: any is the same, and grammar_open answers it with the next one
//
// # Models
//
// A session of a program that has a model, or whose file has a table, has the calls open and run
// alone. The run is made with the scheduler's own branches, whose rows of logits the model says. A
// model is a list of entries, 4,096 at most. The entry counts whose "after" the tokens of a branch
// end with: of several the longest, and of equally long ones the first. After other tokens all
// logits are 0. An entry has one of three:
//
//	{"after": [4], "probabilities": [0.1, 0.9, 0]}    of each token of the vocabulary, like shares of 1; 0: it never comes
//	{"after": [4, 1], "logits": [0.5, 3, -2]}         of each token of the vocabulary, finite
//	{"after": [2], "says": [1, 1, 0]}                 one token after another: the next has the logit 10, and the others have 0
//
// "after" and "says" have 1,024 tokens at most, and those of all entries 65,536. An entry without
// "after" counts where no other does. A row of a picture or a sound is −1. Of the request,
// context_size is 4096 where it is left out, and max_tokens what the prompt leaves of it. Chains
// draw by the request's seed, with the parameters temperature, top_k, top_p, min_p and samplers.
// Grammars are opened and followed. What a run with a model has in the place of deeds:
//
//	"shown"     the tokens of the answer, or a list of them for each choice. As with a server it ends before an end token, and with max_tokens
//	"logprobs"  in the same form, those that the program has given; of a token that it gave none "nan"
//	"adopted"   [{"choice": 0, "tokens": […], "from": 1}]: choices that go on from a branch, of which so many tokens are the prompt
//	"computed"  how many rows the model was asked for
//
// In "logprobs", and in "outputs" of the run, numbers that are not whole may differ by a
// ten-thousandth of their value, or a millionth: the last digits of exponentials are the
// compiler's.
//
// # What the calls of a session keep to
//
// A player has a plugin with penstock_plan plan for each session's configuration. If the plan
// refuses it, or faults, this is how the session's first call comes out.
//
// Every token that joins the conversation is an accept, also for a plugin that has no
// penstock_accept: then without an answer. A splice takes its tokens back at once; those that it
// inserts follow as accepts of their own. A rewind is written for every plugin, also one without
// penstock_rewind; what happens inside it (a fresh instance is told all tokens again) is not. The
// text of stop fits the plugin's buffer.
package session
