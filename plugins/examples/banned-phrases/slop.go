// SPDX-License-Identifier: MIT

package main

// slop is what readers complain about most in the prose of language models: refusals and talk about
// themselves, worn-out images, and a rhetorical figure.
const slop = `
as an AI language model
as a large language model
I'm just an AI
I hope this helps
it's important to note that
it is important to note that
it's worth noting that
it is worth noting that
let's delve into
/(?i)\bdelv(e|es|ed|ing)\b/
/(?i)\brich tapestry\b/
/(?i)\btapestry of\b/
/(?i)\btestament to\b/
/(?i)\bsymphony of\b/
/(?i)\bkaleidoscope of\b/
/(?i)\blabyrinth of\b/
in today's fast-paced world
in the ever-evolving
in the realm of
unlock the power of
unleash the power of
navigate the complexities
a beacon of hope
game-changer
/(?i)\bshivers? (ran |run |running |went |going )?(down|up) (my|your|his|her|their|the) spine/
/(?i)\bvoice (was )?(barely|hardly) above a whisper/
barely above a whisper
barely a whisper
/(?i)\beyes? (glint|gleam|sparkl|twinkl|shin|glow)(ed|ing|s|ening|en|e|es)?\b/
/(?i)\bbreath (I|you|he|she|they) (didn't|hadn't|did not) (know|realize|realise|known)/
/(?i)\bheart (pounded|pounding|hammered|hammering) in (my|your|his|her|their) chest/
a mix of
a mixture of
the air was thick with
hung heavy in the air
sent shivers
ministrations
the world around them faded
time seemed to stand still
little did they know
only time will tell
the scent of ozone
Elara
Eldoria
/(?i)\bwhispering woods\b/
/(?i)\b(it|this|that)( i|')s(n't| not) (just|only|merely|about) [^.!?\n]+[;,.—–-]+ ?(it|this|that)( i|')s\b/
`
