// SPDX-License-Identifier: MIT

// The texts of the page in German, by folder of the source: a text that two folders have stands
// with the first.
export default {
  // the page
  // chats
  // host
  // live
  // media
  // plugins
  // rules
  // scripts
  // settings
  // text
  file: "Datei",
  "{name} (data, not shown)": "{name} (Daten, nicht gezeigt)",
  "Footnote {name}": "Fußnote {name}",
  Details: "Details",
  image: "Bild",
  Table: "Tabelle",
  text: "Text",
  Copy: "Kopieren",
  "{n} tokens": ["{n} Token", "{n} Token"],
  "{n} s": "{n} s",
  "{n} ms": "{n} ms",
  "{n} µs": "{n} µs",
  "{n} min": "{n} min",
  "{n} min {rest} s": "{n} min {rest} s",
  "This is not JSON: {why}": "Das ist kein JSON: {why}",
  Done: "Erledigt",
  "Not done": "Nicht erledigt",
  "≈ {n} tokens": "≈ {n} Token",
  // tools
  // trace
  "No record was kept of this token.": "Zu diesem Token wurde nichts aufgezeichnet.",
  "You took {token} back.": "{token} wurde von Hand zurückgenommen.",
  "{who} took {token} back. Nobody saw it.": "{who} hat {token} zurückgenommen. Niemand hat es gesehen.",
  "You took back {tokens}: {text}.": "Von Hand zurückgenommen ({tokens}): {text}.",
  "You took back {tokens}: {text}, {times} times.":
    "Von Hand zurückgenommen ({tokens}): {text}, {times}-mal.",
  "{who} took back {tokens}: {text}.": "{who} hat {tokens} zurückgenommen: {text}.",
  "{who} took back {tokens}: {text}, {times} times.":
    "{who} hat {tokens} zurückgenommen: {text}, {times}-mal.",
  "The model’s first choice was {token} ({p}).": "Die erste Wahl des Modells war {token} ({p}).",
  "{token} was {nth} ({p}).": "{token} stand auf {nth} ({p}).",
  "{first} {second}": "{first} {second}",
  "allowed {tokens} of {n}": "{tokens} von {n} erlaubt",
  "banned {tokens}": "{tokens} verboten",
  "made {tokens} more or less likely": "{tokens} wahrscheinlicher oder unwahrscheinlicher gemacht",
  "{who} {did}.": "{who}: {did}.",
  "{who} kept {n} of {of}.": "{who} hat {n} von {of} behalten.",
  "{who} changed the probabilities.": "{who} hat die Wahrscheinlichkeiten geändert.",
  "{token} rose from {from} to {to}.": "{token} stieg von {from} auf {to}.",
  "{token} fell from {from} to {to}.": "{token} fiel von {from} auf {to}.",
  "{who} notes: {text}": "{who} notiert: {text}",
  "{who} forced {token}: no stage was asked.": "{who} hat {token} erzwungen: keine Stufe wurde gefragt.",
  "{who} put {token} here itself.": "{who} hat {token} selbst hierher gesetzt.",
  "You put {token} here.": "{token} wurde von Hand hierher gesetzt.",
  "{who} chose {token}.": "{who} hat {token} gewählt.",
  "{who} chose {token}, the only one left.": "{who} hat {token} gewählt, als einziges übriges.",
  "{who} chose {token} ({p}).": "{who} hat {token} gewählt ({p}).",
  "You took back {what}.": "Von Hand zurückgenommen: {what}.",
  "{who} took back {what}.": "{who} hat {what} zurückgenommen.",
  "You put in {what}.": "Von Hand eingesetzt: {what}.",
  "{who} put in {what}.": "{who} hat {what} eingesetzt.",
  "{token} twice": "zweimal {token}",
  "{token} {n} times": "{n}-mal {token}",
  "{tokens} and {n} more": "{tokens} und {n} weitere",
  "{p} or more": "{p} oder mehr",
  "{from}–{to} %": "{from}–{to} %",
  "below {p}": "unter {p}",
  "< {n} %": "< {n} %",
  "> {n} %": "> {n} %",
  "{n} %": "{n} %",
  "{n}st": "Platz {n}",
  "{n}nd": "Platz {n}",
  "{n}rd": "Platz {n}",
  "{n}th": "Platz {n}",
  You: "von Hand",
  "random draw": "Zufallsziehung",
  model: "Modell",
  "plugins' rules": "Regeln der Plugins",
  "The random draw": "Die Zufallsziehung",
  "without plugin {name}": "ohne das Plugin {name}",
  "with the chat’s present settings": "mit den jetzigen Einstellungen des Chats",
  "always the most likely token (temperature {n})": "immer das wahrscheinlichste Token (Temperatur {n})",
  "livelier (temperature {n})": "lebhafter (Temperatur {n})",
  "without any stage that cuts candidates": "ohne Stufen, die Kandidaten streichen",
  // view
  // view/chat
  // view/files
  // view/finder
  // view/form
  // view/inspector
  // view/live
  // view/models
  // view/palette
  // view/plugins
  // view/roads
  // view/script
  // view/settings
  // view/shortcuts
  // view/sidebar
  "As the browser": "Wie der Browser",
  Language: "Sprache",
  // view/steering
  // view/strategy
  // view/tools
};
