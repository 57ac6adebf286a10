// SPDX-License-Identifier: MIT

// Package load turns a module's bytes into a plugin.
//
// A Loader has the module checked, metered and compiled (package compile), gives it the host
// functions (package guest), asks it for its manifest and compiles the schema of its
// configuration. That is done once, whatever the number of models. For each Model an instance is
// warmed that all others of this model begin as a copy of. The result is a Plugin, which package
// stage puts to work in requests.
//
// # Why does the host fill in a configuration's defaults?
//
// The schema says them already, for people and for forms. If each plugin said them again in its
// code, the two would differ one day. What the plugin sees is also what quarantine tells
// configurations apart by, and what a recording has, so a replay is the same after a default has
// changed. What the schema requires must still be given: a request that was refused before is
// refused still. A default that does not fit its own schema is the author's mistake, and the
// module is refused when it is loaded. This is stricter than the first hosts of v1 were, which
// took such a module; it is better found there than in an answer.
//
// # Why is the model's digest not a hash of its whole file?
//
// Hashing 40 GB takes a minute and more, and loading a model reads no more than is used. The
// digest is what saved slots are told apart by already (host/engine/identity.go): the length, the
// first and the last MiB of the file, and the control vectors. The first MiB has the metadata,
// the last one weights, which training changes. It tells a plugin or a recording that the model
// is another one. It does not prove that the model is the same: of a model in several files only
// the first is read, and somebody who wants to can make two files with one digest.
//
// # Why is the work of checking a configuration counted before it is done?
//
// The library applies a part of a schema as often as others refer to it, and cannot be
// interrupted. A manifest of 1.5 KB whose 22 parts each refer twice to the next held up a load
// for 154 s, and each further part doubles that. host/plugin/load/work.go counts how often each
// part is applied to each value, which looks at each pair once, and refuses what costs more than
// two million steps: at most about a second. A match costs the instructions of the regular
// expression, not its length, since the ten bytes of `(a?){1000}` are two thousand of them.
// Numbers that no double can hold are refused as well, since `1e-999999` as a bound is a fraction
// of a million digits, and so are numbers of more than 400 digits. The size of a schema is
// bounded when the module is loaded: the library takes time in proportion to the square of the
// subschemas, and 20 KB of such regular expressions took 132 MB. `$dynamicRef` is refused where a
// value comes to it, because which schema it means is known only while checking.
//
// # Why is a plan kept for each client?
//
// What a plugin leaves in memory after penstock_plan is the same for everybody who sends the same
// configuration. If it were shared, however, a request with a configuration that somebody else uses
// would begin sooner than one with a new configuration. A configuration may be a script, and nobody
// is to find out by the time whether another client has sent it. What this costs is one more plan,
// some milliseconds, for each client.
//
// # Why is a misspelt export an error, but an unknown manifest field not?
//
// An export with the ABI's prefix that the host never calls makes a plugin that loads and does
// nothing. A manifest field that a later host reads, however, must not keep the module from
// loading on an older one, and what a field changes is visible in `GET /v1/plugins`.
package load
