// SPDX-License-Identifier: MIT

package refusal

// Kind is the kind of a refusal. It tells clients whose fault it is, and whether to try again.
type Kind int

// The kinds of refusals.
const (
	KindInternal        Kind = iota // a fault of ours
	KindInvalid                     // the request cannot be read, or asks for what is not allowed
	KindTooLong                     // a text for an embedding is longer than a forward pass
	KindUnauthenticated             // the key is missing or wrong
	KindForbidden                   // whoever asks may not
	KindNotFound                    // what the request names is not here
	KindWrongMethod                 // the route has other methods
	KindNoUpgrade                   // the route opens WebSockets, and the request asks for none
	KindLate                        // the request took too long to arrive
	KindConflict                    // it does not fit what is here already
	KindInUse                       // likewise, until others have ended
	KindLost                        // what the request names is here no more
	KindTooLarge                    // the request has too many bytes or values
	KindWrongMedia                  // the body is of another type than the route takes
	KindImpossible                  // the request is sound, and cannot be carried out, now or later
	KindPluginFault                 // a plugin has failed in carrying it out
	KindBusy                        // the caller, or all together, ask for too much at a time
	KindPluginsBusy                 // there is no room for another guest
	KindLacking                     // the server was not started so that it can do this
	KindUnavailable                 // for a while the server cannot do this
	KindHubForbids                  // the server that models are pulled from wants a key, or another
	KindHubBusy                     // that server has had too many requests
)
