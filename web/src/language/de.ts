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
  "never say frog": "nie Frosch sagen",
  "at most 3 sentences": "höchstens 3 Sätze",
  "at most 20 words": "höchstens 20 Wörter",
  "a date": "ein Datum",
  "a number": "eine Zahl",
  "yes or no": "ja oder nein",
  "one of: red, green, blue": "eins von: rot, grün, blau",
  "JSON with name, age (number), tags (list)": "JSON mit Name, Alter (Zahl), Tags (Liste)",
  "a list of 3 points": "eine Liste mit 3 Punkten",
  "without the letter e": "ohne den Buchstaben e",
  "a policy: the script {name} watches each word": "eine Vorgabe: das Skript {name} wacht über jedes Wort",
  "a JSON schema": "ein JSON-Schema",
  "a grammar": "eine Grammatik",
  "a pattern: {pattern}": "ein Muster: {pattern}",
  // scripts
  "The first letters of the lines spell a word.": "Die ersten Buchstaben der Zeilen ergeben ein Wort.",
  "Writes at least so many tokens: until then the answer cannot end.":
    "Schreibt mindestens so viele Token: vorher kann die Antwort nicht enden.",
  "Never writes these phrases: their tokens are taken back, and it goes another way.":
    "Schreibt diese Wendungen nie: Ihre Token werden zurückgenommen, und es geht anders weiter.",
  "Writes three answers and shows the one that the model finds likeliest.":
    "Schreibt drei Antworten und zeigt die, die das Modell am wahrscheinlichsten findet.",
  "Writes a list: each line begins with a dash, and each sentence gets a line.":
    "Schreibt eine Liste: Jede Zeile beginnt mit einem Strich, und jeder Satz bekommt eine Zeile.",
  "The answer is one of these texts, word for word.": "Die Antwort ist wörtlich einer dieser Texte.",
  "Notes where the model was unsure of a token, for the inspector.":
    "Notiert für den Inspektor, wo das Modell bei einem Token unsicher war.",
  "Cool where the model is sure, warm where it is not.": "Kühl, wo das Modell sicher ist, warm, wo nicht.",
  "The answer begins with this text.": "Die Antwort beginnt mit diesem Text.",
  "Hides words of a pattern, such as e-mail addresses, in the text that is shown.":
    "Verbirgt im gezeigten Text Wörter nach einem Muster, etwa E-Mail-Adressen.",
  "Adds an instruction to every conversation.": "Fügt jedem Gespräch eine Anweisung hinzu.",
  "Does without a letter.": "Kommt ohne einen Buchstaben aus.",
  "Writes numbers as words: no token with a digit is possible.":
    "Schreibt Zahlen als Wörter: Kein Token mit einer Ziffer ist möglich.",
  "No run of tokens comes twice, so an answer cannot go round in circles.":
    "Keine Folge von Token kommt zweimal, so dass sich keine Antwort im Kreis dreht.",
  "Writes each name at most once: a word with a capital letter is a name.":
    "Schreibt jeden Namen höchstens einmal: Ein Wort mit großem Anfangsbuchstaben ist ein Name.",
  "Writes letters of one script only, such as Latin, Cyrillic or Greek.":
    "Schreibt nur Buchstaben einer Schrift, etwa lateinisch, kyrillisch oder griechisch.",
  "Ends the model's reasoning after so many tokens.":
    "Beendet die Überlegung des Modells nach so vielen Token.",
  "Ends the answer after so many sentences.": "Beendet die Antwort nach so vielen Sätzen.",
  "What stands in quotation marks is verbatim from the prompt.":
    "Was in Anführungszeichen steht, ist wörtlich aus dem Prompt.",
  "Writes four answers and shows the one that most of them agree on.":
    "Schreibt vier Antworten und zeigt die, bei der die meisten übereinstimmen.",
  "Prefers tokens of a list that the last token and a key choose: a watermark.":
    "Bevorzugt Token einer Liste, die das letzte Token und ein Schlüssel bestimmen: ein Wasserzeichen.",
  "Give it a name.": "Bitte einen Namen angeben.",
  "There is no script to keep yet.": "Es gibt noch kein Skript zum Behalten.",
  "There are {n} scripts already. Remove one of them first.":
    "Es gibt schon {n} Skripte. Bitte erst eines entfernen.",
  "The server wants a key. Reload the page to enter it.":
    "Der Server verlangt einen Schlüssel. Zur Eingabe die Seite neu laden.",
  "This server knows no scripts.": "Dieser Server kennt keine Skripte.",
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
  "Its time": "Dauer",
  generated: "erzeugt",
  "tokens/s": "Token/s",
  prompts: "Prompts",
  ticks: "Ticks",
  "a second": "pro Sekunde",
  slots: "Plätze",
  "of {n} in use": "von {n} belegt",
  // view/models
  "To change the models": "Zum Ändern der Modelle",
  "Find a model": "Modell suchen",
  "No model has these words.": "Kein Modell hat diese Wörter.",
  "A question loads the model that it asks. Load one here to have it ready, or unload it to make room for others.":
    "Eine Frage lädt das Modell, das sie fragt. Hier lassen sich Modelle vorab laden, oder entladen, um Raum für andere zu schaffen.",
  "Search models": "Modelle durchsuchen",
  Models: "Modelle",
  "Chat with {name}": "Chat mit {name}",
  Chat: "Chat",
  "Load {name}": "{name} laden",
  "Unload {name}": "{name} entladen",
  Load: "Laden",
  Unload: "Entladen",
  "Default: {name}": "Standard: {name}",
  "Begin new chats with it, whatever was chosen last":
    "Neue Chats damit beginnen, was auch zuletzt gewählt war",
  Default: "Standard",
  "New chats with it begin with your settings for it.":
    "Neue Chats damit beginnen mit den dafür gespeicherten Einstellungen.",
  "Forget them: {name}": "Vergessen: {name}",
  "Forget them": "Vergessen",
  Loaded: "Geladen",
  "Loading…": "Wird geladen…",
  "Not loaded": "Nicht geladen",
  "{n} parameters": "{n} Parameter",
  "context of {n} tokens": "Kontext von {n} Token",
  "{n} GB": "{n} GB",
  "{n} MB": "{n} MB",
  "{name} is there now.": "{name} ist jetzt da.",
  "Pull a model": "Ein Modell holen",
  "Name of the model at the hub": "Name des Modells im Hub",
  "OWNER/NAME or OWNER/NAME:Q4_K_M": "BESITZER/NAME oder BESITZER/NAME:Q4_K_M",
  Pull: "Holen",
  "The server downloads it from its hub (Hugging Face, unless it is configured otherwise) into its model folder. That needs the admin key.":
    "Der Server lädt es aus seinem Hub (Hugging Face, wenn nicht anders eingestellt) in seinen Modellordner. Dafür ist der Admin-Schlüssel nötig.",
  "Models that are pulled": "Modelle, die geholt werden",
  "{name} is pulled": "{name} wird geholt",
  "Stop pulling {name}": "{name} stoppen",
  Stop: "Stoppen",
  "Pull again: {name}": "Erneut holen: {name}",
  "Pull again": "Erneut holen",
  "Dismiss {name}": "{name} schließen",
  Dismiss: "Schließen",
  "Stopped. Pull it again, and it goes on where it stopped.": "Gestoppt. Erneutes Holen macht dort weiter.",
  "The server has this model already.": "Der Server hat dieses Modell schon.",
  "{name} is in the model folder now. This server offers only the models that it was started with: start it with --models-dir to choose among those of a folder.":
    "{name} ist jetzt im Modellordner. Dieser Server bietet nur die Modelle an, mit denen er gestartet wurde: mit --models-dir gestartet, bietet er die eines Ordners an.",
  "{done} of {total} ({n} %)": "{done} von {total} ({n} %)",
  "Asking the hub…": "Anfrage beim Hub…",
  "Remove {name}": "{name} entfernen",
  Remove: "Entfernen",
  "Its files are deleted on the server.": "Seine Dateien werden auf dem Server gelöscht.",
  "Remove {name} for good": "{name} endgültig entfernen",
  Cancel: "Abbrechen",
  // view/palette
  // view/plugins
  // view/roads
  "Looking for the token record…": "Token-Protokoll wird gesucht…",
  "Other words": "Andere Wörter",
  "Close other words": "Andere Wörter schließen",
  Close: "Schließen",
  Tokens: "Token",
  "Write another answer with a record": "Eine andere Antwort mit Protokoll schreiben",
  "For this the answer is computed again, once the server is reached.":
    "Dafür wird die Antwort neu berechnet, sobald der Server erreicht ist.",
  "Computing the answer again, to see of which words the model was unsure…":
    "Die Antwort wird neu berechnet, um zu sehen, bei welchen Wörtern das Modell unsicher war…",
  "The server could not compute the answer again.": "Der Server konnte die Antwort nicht neu berechnen.",
  "The server writes this answer otherwise now, perhaps because settings were changed since. So of which words the model was unsure is not known.":
    "Der Server schreibt diese Antwort jetzt anders, vielleicht weil seither Einstellungen geändert wurden. Bei welchen Wörtern das Modell unsicher war, ist darum nicht bekannt.",
  "This browser does not keep the record of what the model was unsure of.":
    "Dieser Browser speichert nicht, wobei das Modell unsicher war.",
  "The model was sure of every word.": "Das Modell war sich bei jedem Wort sicher.",
  "was unsure of {n} words": ["war bei {n} Wort unsicher", "war bei {n} Wörtern unsicher"],
  "backed up at {n} places": ["ging an {n} Stelle zurück", "ging an {n} Stellen zurück"],
  "The model {did}. Press one in the text, or step through.":
    "Das Modell {did}. Eines im Text anklicken oder durchblättern.",
  "Previous word": "Voriges Wort",
  "Previous word (←)": "Voriges Wort (←)",
  "{n} of {total}": "{n} von {total}",
  "Next word": "Nächstes Wort",
  "Next word (→)": "Nächstes Wort (→)",
  "This word is no part of the text that is shown, so the answer cannot go on from it.":
    "Dieses Wort gehört nicht zum gezeigten Text; die Antwort kann darum nicht davon ausgehen.",
  "{word} was put here.": "{word} wurde hier eingesetzt.",
  "{word} was chosen; the model gave it {p}.": "{word} wurde gewählt; das Modell gab ihm {p}.",
  "It might have been:": "Es hätte sein können:",
  "Write the answer again from this word": "Die Antwort ab diesem Wort neu schreiben",
  "Choose one, and the answer is written again from there, beside this one.":
    "Nach der Wahl wird die Antwort ab dort neu geschrieben, neben dieser.",
  "{who} backed up here: {earlier}, then {word}.": "Hier zurückgegangen ({who}): {earlier}, dann {word}.",
  // view/script
  "To change the plugins": "Zum Ändern der Plugins",
  "The browser does not let this page copy.": "Der Browser lässt diese Seite nichts kopieren.",
  "The curl command is copied.": "Der curl-Befehl ist kopiert.",
  "Copy as curl": "Als curl kopieren",
  "The request’s body is copied.": "Der Inhalt der Anfrage ist kopiert.",
  "Copy as JSON": "Als JSON kopieren",
  "Tab now leaves the editor.": "Tab verlässt jetzt den Editor.",
  "Tab indents. Press Esc before Tab to leave the editor.": "Tab rückt ein. Esc vor Tab verlässt den Editor.",
  Script: "Skript",
  "// five lines of JavaScript, or one of the gallery's scripts":
    "// fünf Zeilen JavaScript, oder ein Skript der Galerie",
  "Line {n}": "Zeile {n}",
  "Gallery: {n} scripts to begin with": "Galerie: {n} Skripte für den Anfang",
  "“{name}” is a strategy now: choose it above the message field of any chat.":
    "„{name}“ ist jetzt eine Strategie: über dem Nachrichtenfeld jedes Chats wählbar.",
  "The script is too long for a link. Export the chat as JSON, which has the script too.":
    "Das Skript ist zu lang für einen Link. Der Export des Chats als JSON enthält es auch.",
  "There is no script to share yet.": "Es gibt noch kein Skript zum Teilen.",
  "A link is copied. It holds the script, not the chat, and whoever opens it is asked before it runs.":
    "Ein Link ist kopiert. Er enthält das Skript, nicht den Chat; vor dem Ausführen wird beim Öffnen gefragt.",
  "Keep as a strategy": "Als Strategie behalten",
  "Copy a link": "Link kopieren",
  "Scripts are on where only this machine or holders of an API key can ask. Its operator can set {setting}: {on} lets everybody send them, {keys} the keys of {list}.":
    "Skripte sind an, wo nur dieser Rechner oder Inhaber eines API-Schlüssels fragen können. Wer den Server betreibt, kann {setting} setzen: {on} lässt alle welche senden, {keys} die Schlüssel aus {list}.",
  "A newer version of Penstock does.": "Eine neuere Version von Penstock kennt sie.",
  "The answer with this script": "Die Antwort mit diesem Skript",
  "The answer": "Die Antwort",
  "with {names}": "mit {names}",
  "The same as the run before, token for token.": "Wie im Lauf davor, Token für Token.",
  "the end": "das Ende",
  "Differs from the run before at token {n}: {token}, before {earlier}.":
    "Anders als im Lauf davor ab Token {n}: {token}, vorher {earlier}.",
  "Token {n}, {token}: {note}": "Token {n}, {token}: {note}",
  "Token {n}, {token}, taken back: {note}": "Token {n}, {token}, zurückgenommen: {note}",
  "Before the answer: {line}": "Vor der Antwort: {line}",
  "Token {n} tells {value}": "Token {n} meldet {value}",
  "Notes, values and console ({n})": "Notizen, Werte und Konsole ({n})",
  "Save as a plugin": "Als Plugin speichern",
  "There is no script to save yet.": "Es gibt noch kein Skript zum Speichern.",
  "Name of the plugin": "Name des Plugins",
  Save: "Speichern",
  "Nobody can add plugins over the network here: the server was started without an admin key ({option}). Save the script as a file in its plugin folder.":
    "Hier kann niemand Plugins über das Netz hinzufügen: Der Server wurde ohne Admin-Schlüssel gestartet ({option}). Das Skript lässt sich als Datei in seinem Plugin-Ordner speichern.",
  "A name has small letters, digits, - and _, and begins with a letter or digit.":
    "Ein Name besteht aus Kleinbuchstaben, Ziffern, - und _ und beginnt mit einem Buchstaben oder einer Ziffer.",
  "A few lines of JavaScript steer how this chat is answered, token by token. As soon as you pause, the answer is computed anew.":
    "Ein paar Zeilen JavaScript steuern Token für Token, wie dieser Chat beantwortet wird. Nach jeder Tipppause wird die Antwort neu berechnet.",
  "This script came in an imported file or a link and has not run here. Read it first.":
    "Dieses Skript kam aus einer importierten Datei oder einem Link und lief hier noch nicht. Bitte erst lesen.",
  "Run it": "Ausführen",
  "What a script sees": "Was ein Skript sieht",
  Configuration: "Konfiguration",
  "JSON; the script reads it as “config”": "JSON; das Skript liest es als „config“",
  "Use in this chat": "In diesem Chat verwenden",
  "Its next answers are written with the script, together with the chat's plugins.":
    "Seine nächsten Antworten werden mit dem Skript geschrieben, zusammen mit den Plugins des Chats.",
  "Asked:": "Gefragt:",
  "A question to try it with": "Eine Frage zum Ausprobieren",
  "Write it into the chat and inspect it": "In den Chat schreiben und prüfen",
  // view/settings
  // view/shortcuts
  // view/sidebar
  "As the browser": "Wie der Browser",
  Language: "Sprache",
  // view/steering
  "Write into the answer": "In die Antwort schreiben",
  Insert: "Einfügen",
  "It is added at the end as if the model had written it, with a space before it where a new word begins.":
    "Es wird am Ende angefügt, als hätte das Modell es geschrieben, mit einem Leerzeichen davor, wo ein neues Wort beginnt.",
  "Click a token to take it back, with all that follow.":
    "Ein Klick auf ein Token nimmt es mit allen folgenden zurück.",
  "Take back from “{text}”: {tokens}": "Zurücknehmen ab „{text}“: {tokens}",
  "a space": "ein Leerzeichen",
  "Steer this answer": "Diese Antwort steuern",
  Resume: "Fortsetzen",
  Pause: "Pause",
  "Paused after {tokens}. Others may use its slot meanwhile.":
    "Pausiert nach {tokens}. Andere können inzwischen ihren Platz nutzen.",
  "This is the first answer.": "Dies ist die erste Antwort.",
  "This is the second answer.": "Dies ist die zweite Antwort.",
  "This is the third answer.": "Dies ist die dritte Antwort.",
  "This is the fourth answer.": "Dies ist die vierte Antwort.",
  "It waits for its turn. What is inserted now is there when it begins.":
    "Sie wartet, bis sie an der Reihe ist. Was jetzt eingefügt wird, steht am Anfang schon da.",
  "The connection is lost. The answer can be steered again once it is back.":
    "Die Verbindung ist abgebrochen. Sobald sie wieder besteht, lässt sich die Antwort steuern.",
  "Take back": "Zurück",
  "Take back {tokens}": "{tokens} zurücknehmen",
  "Another tab follows this answer. Fork it there.":
    "Ein anderer Tab folgt dieser Antwort. Dort lässt sie sich verzweigen.",
  "A second answer goes on from here, beside this one":
    "Eine zweite Antwort geht von hier aus weiter, neben dieser",
  Fork: "Verzweigen",
  "More of the sampling": "Mehr zum Sampling",
  Temperature: "Temperatur",
  // view/strategy
  "The chat has another script now.": "Der Chat hat jetzt ein anderes Skript.",
  Undo: "Rückgängig",
  "Add an answer": "Antwort hinzufügen",
  "What is left open is as this chat is set. The server computes them in the same passes.":
    "Was offen bleibt, ist wie in diesem Chat eingestellt. Der Server berechnet sie in denselben Durchgängen.",
  "Answer {n}": "Antwort {n}",
  "as set": "wie eingestellt",
  Plugin: "Plugin",
  "Remove answer {n}": "Antwort {n} entfernen",
  "What answers have to obey": "Woran Antworten sich halten müssen",
  "A chat has at most {n} rules. Remove one to add another.":
    "Ein Chat hat höchstens {n} Regeln. Für eine neue bitte eine entfernen.",
  "They hold from the next answer on: a word that would break one is taken back before you see it. Below the answer stands how often it {backed}, and where.":
    "Sie gelten ab der nächsten Antwort: Ein Wort, das eine verletzen würde, wird zurückgenommen, bevor es zu sehen ist. Unter der Antwort steht, wie oft sie {backed} ist, und wo.",
  "backed up": "zurückgegangen",
  "a policy, at each word": "eine Vorgabe, bei jedem Wort",
  "binds the whole answer: {kind}": "bindet die ganze Antwort: {kind}",
  "Remove the rule “{rule}”": "Die Regel „{rule}“ entfernen",
  "Its script is not the one that this page would write":
    "Ihr Skript ist nicht das, das diese Seite schreiben würde",
  "A rule": "Eine Regel",
  Add: "Hinzufügen",
  "Examples:": "Beispiele:",
  "Say it in a few words.": "Mit wenigen Worten.",
  "This chat has that rule.": "Dieser Chat hat diese Regel schon.",
  "Becomes {what}.": "Wird zu: {what}.",
  "Nothing is known that would see to this. Begin with one of the examples.":
    "Nichts ist bekannt, das dafür sorgen würde. Am besten mit einem der Beispiele beginnen.",
  "The strategy “{name}” is removed.": "Die Strategie „{name}“ ist entfernt.",
  "How the next answers are written": "Wie die nächsten Antworten geschrieben werden",
  Normal: "Normal",
  "One answer, word by word.": "Eine Antwort, Wort für Wort.",
  "A script of yours.": "Ein eigenes Skript.",
  "Remove the strategy “{name}”": "Die Strategie „{name}“ entfernen",
  "Side by side": "Nebeneinander",
  "Up to four answers to each question, with other models, temperatures or plugins, computed together.":
    "Bis zu vier Antworten auf jede Frage, mit anderen Modellen, Temperaturen oder Plugins, zusammen berechnet.",
  "Fill in what is required; then it counts.": "Bitte das Nötige ausfüllen; dann zählt es.",
  "Plugins that take part in each answer": "Plugins, die an jeder Antwort mitwirken",
  Rules: "Regeln",
  "{n} rules": ["{n} Regel", "{n} Regeln"],
  "How the next answer is written": "Wie die nächste Antwort geschrieben wird",
  Strategy: "Strategie",
  "Strategy:": "Strategie:",
  "More strategies": "Mehr Strategien",
  More: "Mehr",
  // view/tools
};
