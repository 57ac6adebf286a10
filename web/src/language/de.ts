// SPDX-License-Identifier: MIT

// The texts of the page in German, by folder of the source: a text that two folders have stands
// with the first.
export default {
  // the page
  // chats
  // host
  // live
  "more than {time}": "mehr als {time}",
  "Half of all tokens came within {half} of the one before, 95 % within {most}, 99 % within {nearlyAll}.":
    "Die Hälfte aller Token kam binnen {half} nach dem vorigen, 95 % binnen {most}, 99 % binnen {nearlyAll}.",
  Free: "Frei",
  Paused: "Pausiert",
  Waits: "Wartet",
  "Reads its prompt": "Liest den Prompt",
  Writes: "Schreibt",
  "Its reader has paused it.": "Wer sie liest, hat sie angehalten.",
  "Its tokens are read too slowly, or by nobody just now, so it waits.":
    "Ihre Token werden zu langsam gelesen, oder gerade von niemandem; darum wartet sie.",
  "Its plugins have used up their processor time, and rest for a moment.":
    "Ihre Plugins haben ihre Prozessorzeit verbraucht und ruhen einen Moment.",
  "The prompts of other answers are computed first.":
    "Zuerst werden die Prompts anderer Antworten berechnet.",
  "The memory has no room for it now.": "Im Speicher ist gerade kein Raum für sie.",
  "Its program does not ask for it now.": "Ihr Programm verlangt sie gerade nicht.",
  "All slots are taken.": "Alle Plätze sind belegt.",
  "The beginning of its prompt is read from the disk.":
    "Der Anfang ihres Prompts wird von der Platte gelesen.",
  "Another answer computes the beginning of the same prompt, which both will share.":
    "Eine andere Antwort berechnet den Anfang desselben Prompts, den dann beide nutzen.",
  "It waits for {what}.": "Sie wartet auf {what}.",
  "Its next token is still being chosen.": "Ihr nächstes Token wird noch gewählt.",
  "{plugins} have not decided on the next token yet.": [
    "{plugins} hat noch nicht über das nächste Token entschieden.",
    "{plugins} haben noch nicht über das nächste Token entschieden.",
  ],
  "The queue is empty.": "Die Warteschlange ist leer.",
  "{n} answers wait: {why}.": ["{n} Antwort wartet: {why}.", "{n} Antworten warten: {why}."],
  "{n} for a slot": "{n} auf einen Platz",
  "{n} for room in the memory": "{n} auf Raum im Speicher",
  "{n} for another to compute the same prompt": "{n} darauf, dass eine andere denselben Prompt berechnet",
  "{n} because they are paused": "{n}, weil pausiert",
  "{n} for their readers": "{n} auf ihre Leser",
  "{n} for {what}": "{n} auf {what}",
  "{n} decoded": "{n} dekodiert",
  "{n} of prompts": "{n} aus Prompts",
  "Tick {number}: tokens {tokens}; {passes}; {times}.": "Tick {number}: Token: {tokens}; {passes}; {times}.",
  "tokens|none": "keine",
  "{n} passes": ["{n} Durchgang", "{n} Durchgänge"],
  "model {model}, sampling {sampling}, in all {total}":
    "Modell {model}, Sampling {sampling}, insgesamt {total}",
  "model {model}, sampling {sampling}, plugins {plugins}, in all {total}":
    "Modell {model}, Sampling {sampling}, Plugins {plugins}, insgesamt {total}",
  "The last {n} ticks computed {answers} tokens of answers and {prompts} of prompts each, in {time} on average.":
    [
      "Der letzte Tick berechnete {answers} Token von Antworten und {prompts} von Prompts in {time}.",
      "Die letzten {n} Ticks berechneten je {answers} Token von Antworten und {prompts} von Prompts, im Mittel in {time}.",
    ],
  "Waiting for the server…": "Warten auf den Server…",
  "In the queue: you are next": "In der Warteschlange: als Nächstes dran",
  "In the queue: place {n}": "In der Warteschlange: Position {n}",
  "Loading the model {model}…": "Das Modell {model} wird geladen…",
  "Reading the prompt: {done} of {total} tokens": "Prompt wird gelesen: {done} von {total} Token",
  "Reading the prompt: {done} of {total} tokens, about {time} left":
    "Prompt wird gelesen: {done} von {total} Token, noch etwa {time}",
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
  "Another answer of this page": "Eine andere Antwort dieser Seite",
  "A plugin being tried": "Ein Plugin wird ausprobiert",
  "Untitled chat": "Chat ohne Titel",
  "The last ticks as a table": "Die letzten Ticks als Tabelle",
  "The last ticks": "Die letzten Ticks",
  Tick: "Tick",
  "Tokens of answers": "Token von Antworten",
  "Tokens of prompts": "Token von Prompts",
  Passes: "Durchgänge",
  Model: "Modell",
  Sampling: "Sampling",
  Plugins: "Plugins",
  "In all": "Insgesamt",
  "Read again": "Neu lesen",
  "Time between tokens": "Zeit zwischen Token",
  "No answer has had two tokens yet.": "Noch hatte keine Antwort zwei Token.",
  "p{n}": "p{n}",
  "Of {n} tokens since the model was loaded, estimated from the bars.":
    "Von {n} Token seit dem Laden des Modells, geschätzt aus den Balken.",
  "more than {time}: {n}": "mehr als {time}: {n}",
  "up to {time}: {n}": "bis {time}: {n}",
  "No model": "Kein Modell",
  "The server shows no live view: {why}": "Der Server zeigt keine Live-Ansicht: {why}",
  "No model is loaded. The first question in a chat loads one, and then its slots are shown here.":
    "Kein Modell ist geladen. Die erste Frage in einem Chat lädt eines; dann stehen hier seine Plätze.",
  "{name} is being loaded.": "{name} wird geladen.",
  "{name} is being loaded; {n} answers wait for it.": [
    "{name} wird geladen; {n} Antwort wartet darauf.",
    "{name} wird geladen; {n} Antworten warten darauf.",
  ],
  Memory: "Speicher",
  "What the model remembers of each token (KV cache).":
    "Was sich das Modell von jedem Token merkt (KV-Cache).",
  "Room for {n} tokens, of which {used} are taken.": "Raum für {n} Token, davon {used} belegt.",
  "Memory: {running} in use, {kept} kept from earlier":
    "Speicher: {running} benutzt, {kept} von früher behalten",
  "running answers {n} ({p})": "laufende Antworten {n} ({p})",
  "kept from earlier {n} ({p})": "von früher behalten {n} ({p})",
  Ready: "Bereit",
  "In quarantine for a client": "In Quarantäne für einen Client",
  "Cannot be used with this model": "Mit diesem Modell nicht nutzbar",
  "The server has no plugins. {link}, and its calls are counted here.":
    "Der Server hat keine Plugins. {link}: dann werden seine Aufrufe hier gezählt.",
  "Add one": "Eines hinzufügen",
  "What plugins do": "Was Plugins tun",
  Name: "Name",
  State: "Zustand",
  Calls: "Aufrufe",
  "A call takes": "Ein Aufruf dauert",
  Faults: "Fehler",
  "Not called yet: {names}.": "Noch nicht aufgerufen: {names}.",
  Queue: "Warteschlange",
  "Place {n}, for {time}.": "Position {n}, seit {time}.",
  Slots: "Plätze",
  "Each slot holds one answer; answers beyond them wait in the queue.":
    "Jeder Platz fasst eine Antwort; weitere warten in der Warteschlange.",
  "All {n} slots are free. {link}: its prompt is read and its answer is written in one of them, and each tick of that shows here.":
    "Alle {n} Plätze sind frei. {link}: In einem davon wird der Prompt gelesen und die Antwort geschrieben, und jeder Tick davon ist hier zu sehen.",
  "Ask something in a chat": "In einem Chat etwas fragen",
  "{n} slots are free.": ["{n} Platz ist frei.", "{n} Plätze sind frei."],
  "Slot {n}": "Platz {n}",
  "Another client": "Ein anderer Client",
  "{rate} tokens/s": "{rate} Token/s",
  "priority {n}": "Priorität {n}",
  Steer: "Steuern",
  "{done} of {total} prompt tokens": "{done} von {total} Token des Prompts",
  "{n} of {most} tokens": "{n} von {most} Token",
  "The answer has no limit": "Die Antwort hat kein Limit",
  "{n} % of the longest answer": "{n} % der längsten Antwort",
  "{n} % of the prompt": "{n} % des Prompts",
  now: "jetzt",
  held: "angehalten",
  "−{n} s": "−{n} s",
  Ticks: "Ticks",
  "Go on": "Weiter",
  Freeze: "Anhalten",
  "In each tick the model is run once for all: every answer gains a token, and a piece of the prompts is read.":
    "In jedem Tick läuft das Modell einmal für alle: Jede Antwort gewinnt ein Token, und ein Stück der Prompts wird gelesen.",
  "Nothing has been computed yet: {link} to see it.": "Noch wurde nichts berechnet: {link}, um es zu sehen.",
  "ask something in a chat": "in einem Chat etwas fragen",
  "The ticks of the last seconds; step through them with the arrow keys":
    "Die Ticks der letzten Sekunden; Pfeiltasten gehen hindurch",
  "No tick is chosen": "Kein Tick ist gewählt",
  "tokens of answers": "Token von Antworten",
  "tokens of prompts": "Token von Prompts",
  "running the model (forward pass)": "Modell (Durchgang)",
  sampling: "Sampling",
  plugins: "Plugins",
  other: "anderes",
  "Tokens in a tick": "Token in einem Tick",
  "Its time": "Seine Zeit",
  generated: "erzeugt",
  "tokens/s": "Token/s",
  prompts: "Prompts",
  ticks: "Ticks",
  "a second": "pro Sekunde",
  slots: "Plätze",
  "of {n} in use": "von {n} belegt",
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
