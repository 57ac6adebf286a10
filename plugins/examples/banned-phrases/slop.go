// SPDX-License-Identifier: MIT

package main

// slop is what readers complain about most in the prose of language models: refusals and talk about
// themselves, worn-out images, and a rhetorical figure.
const slop = `
as an AI language model
as a large language model
/(?i)\bI('|’| a)m just an AI\b/
I hope this helps
/(?i)\bit( i|['’])s (important to note|worth noting) that\b/
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
/(?i)\bbreath (I|you|he|she|they) (didn['’]t|hadn['’]t|did not) (know|realize|realise|known)/
/(?i)\bheart (pounded|pounding|hammered|hammering) in (my|your|his|her|their) chest/
/(?i)\ba mix(ture)? of (emotions|feelings|fear|awe|hope|dread|curiosity|excitement|surprise|relief|anger|sadness|admiration|amusement|pride)\b/
the air was thick with
hung heavy in the air
sent shivers
/(?i)\bministrations\b/
the world around them faded
time seemed to stand still
little did they know
only time will tell
the scent of ozone
/\b(Elara|Eldoria)\b/
/(?i)\bwhispering woods\b/
/(?i)\b(it|this|that)( i|['’])s(n['’]t| not) (just|only|merely|about) [^.!?\n]+[;,.—–-]+ ?(it|this|that)( i|['’])s\b/
`
