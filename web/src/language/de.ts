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
  "It cannot be read; a folder is no plugin.":
    "Die Datei lässt sich nicht lesen; ein Ordner ist kein Plugin.",
  "{plugin} is there already: the same file, byte for byte.":
    "{plugin} ist schon da: dieselbe Datei, Byte für Byte.",
  "Not uploaded: {plugin} stays as it was.": "Nicht hochgeladen: {plugin} bleibt, wie es war.",
  "{plugin} is there.": "{plugin} ist da.",
  "{plugin} has taken its predecessor's place.": "{plugin} hat seinen Vorgänger ersetzt.",
  "The server wants a key. Reload the page to enter it.":
    "Der Server verlangt einen Schlüssel. Zur Eingabe die Seite neu laden.",
  "Build it smaller, for example without debug information.":
    "Es kleiner bauen, zum Beispiel ohne Debug-Informationen.",
  "A plugin is a .wasm file; docs/plugins/go.md and docs/plugins/rust.md tell how to build one.":
    "Ein Plugin ist eine .wasm-Datei; docs/plugins/go.md und docs/plugins/rust.md sagen, wie man eine baut.",
  "Its operator can take it out of plugins.default and plugins.policy_file.":
    "Wer den Server betreibt, kann es aus plugins.default und plugins.policy_file nehmen.",
  "Try again in a moment.": "Gleich noch einmal versuchen.",
  "This server requires it in {requests}; its operator has set it up.":
    "Dieser Server verlangt es in {requests}; so ist es von seinem Betreiber eingerichtet.",
  "This server uses it in {requests} unless it is switched off or configured here.":
    "Dieser Server verwendet es in {requests}, solange es hier weder ausgeschaltet noch konfiguriert ist.",
  requests: "Anfragen",
  "requests to {models}": "Anfragen an {models}",
  "requests by {routes}": "Anfragen über {routes}",
  "requests to {models} by {routes}": "Anfragen an {models} über {routes}",
  Messages: "Nachrichten",
  "It rewrites the conversation before the prompt is made of it.":
    "Es schreibt das Gespräch um, bevor daraus der Prompt wird.",
  Template: "Vorlage",
  "It turns the conversation into the prompt.": "Es macht aus dem Gespräch den Prompt.",
  Constraint: "Vorgabe",
  "It allows, bans or weighs tokens before each choice.":
    "Es erlaubt, verbietet oder gewichtet Token vor jeder Wahl.",
  Sampler: "Sampler",
  "It changes the candidates or chooses the token.": "Es verändert die Kandidaten oder wählt das Token.",
  "Token watcher": "Token-Wächter",
  "It sees each token, and may replace it or end the answer.":
    "Es sieht jedes Token und kann es ersetzen oder die Antwort beenden.",
  Program: "Programm",
  "It writes the whole answer, from several continuations at once.":
    "Es schreibt die ganze Antwort, aus mehreren Fortsetzungen zugleich.",
  Guesses: "Vermutungen",
  "It guesses the next tokens, which makes answers faster.":
    "Es errät die nächsten Token; das macht Antworten schneller.",
  "kind of plugin|Stop": "Stopp",
  "It reads the new text, and may hold it back or end the answer.":
    "Es liest den neuen Text und kann ihn zurückhalten oder die Antwort beenden.",
  Filter: "Filter",
  "It rewrites the text before it is shown.": "Es schreibt den Text um, bevor er erscheint.",
  "sees the whole vocabulary": "sieht das ganze Vokabular",
  "sees the {n} likeliest tokens": [
    "sieht das wahrscheinlichste Token",
    "sieht die {n} wahrscheinlichsten Token",
  ],
  "may take back {n} tokens, so text comes that much later": [
    "kann {n} Token zurücknehmen, so viel später kommt der Text",
    "kann {n} Token zurücknehmen, so viel später kommt der Text",
  ],
  "may compute {n} more tokens than it keeps": [
    "berechnet bis zu {n} Token mehr, als es behält",
    "berechnet bis zu {n} Token mehr, als es behält",
  ],
  "writes up to {n} continuations at once": "schreibt bis zu {n} Fortsetzungen zugleich",
  "{n} bytes": ["{n} Byte", "{n} Byte"],
  "Replace it with a built module, or remove the file.":
    "Durch ein gebautes Modul ersetzen oder die Datei entfernen.",
  "Give one of them another name, or remove one of the files.":
    "Einem davon einen anderen Namen geben oder eine der Dateien entfernen.",
  "Build it with an SDK: docs/plugins/go.md or docs/plugins/rust.md.":
    "Mit einem SDK bauen: docs/plugins/go.md oder docs/plugins/rust.md.",
  "Mend the module and copy it over this file: the server loads it by itself.":
    "Das Modul reparieren und über diese Datei kopieren: Der Server lädt es von selbst.",
  "default {value}": "Standard {value}",
  "{one}; {other}": "{one}; {other}",
  "{low} to {high}": "{low} bis {high}",
  "between {low} and {high}": "zwischen {low} und {high}",
  "at least {limit}": "mindestens {limit}",
  "above {limit}": "über {limit}",
  "at most {limit}": "höchstens {limit}",
  "below {limit}": "unter {limit}",
  "{one}, {other}": "{one}, {other}",
  "at most {n} characters": ["höchstens {n} Zeichen", "höchstens {n} Zeichen"],
  "Add at least one {entry}.": "Mindestens einen Eintrag hinzufügen: {entry}.",
  "Fill in {name}.": "{name} ausfüllen.",
  "Nothing may stand here.": "Hier darf nichts stehen.",
  "There is no field of this name.": "Ein Feld dieses Namens gibt es nicht.",
  "It fits none of the allowed forms.": "Es passt zu keiner der erlaubten Formen.",
  "It must fit exactly one of the allowed forms.": "Es muss zu genau einer der erlaubten Formen passen.",
  "This is not allowed.": "Das ist nicht erlaubt.",
  "a text": "ein Text",
  "a number": "eine Zahl",
  "a whole number": "eine ganze Zahl",
  "yes or no": "ja oder nein",
  "a list": "eine Liste",
  "an object with named fields": "ein Objekt mit benannten Feldern",
  "It must be {types}.": "Es muss {types} sein.",
  "{one} or {other}": "{one} oder {other}",
  "It must be {value}.": "Es muss {value} sein.",
  "It must be one of {values}.": "Es muss einer dieser Werte sein: {values}.",
  "It must not be empty.": "Es darf nicht leer sein.",
  "It needs at least {n} characters.": [
    "Es braucht mindestens {n} Zeichen.",
    "Es braucht mindestens {n} Zeichen.",
  ],
  "It may have at most {n} characters.": [
    "Es darf höchstens {n} Zeichen haben.",
    "Es darf höchstens {n} Zeichen haben.",
  ],
  "It is too large a number.": "Die Zahl ist zu groß.",
  "It must be at least {limit}.": "Es muss mindestens {limit} sein.",
  "It must be at most {limit}.": "Es darf höchstens {limit} sein.",
  "It must be above {limit}.": "Es muss über {limit} liegen.",
  "It must be below {limit}.": "Es muss unter {limit} liegen.",
  "It must be a multiple of {limit}.": "Es muss ein Vielfaches von {limit} sein.",
  "It needs at least {n} entries.": [
    "Es braucht mindestens {n} Eintrag.",
    "Es braucht mindestens {n} Einträge.",
  ],
  "It may have at most {n} entries.": [
    "Es darf höchstens {n} Eintrag haben.",
    "Es darf höchstens {n} Einträge haben.",
  ],
  "Each entry may stand in it only once.": "Jeder Eintrag darf nur einmal vorkommen.",
  "It must match {pattern}": "Es muss passen zu {pattern}",
  // rules
  "never say frog": "nie Frosch sagen",
  "at most 3 sentences": "höchstens 3 Sätze",
  "at most 20 words": "höchstens 20 Wörter",
  "a date": "ein Datum",
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
  "This server knows no scripts.": "Dieser Server kennt keine Skripte.",
  // settings
  Text: "Text",
  "The answer is free.": "Die Antwort ist frei.",
  "The answer is a JSON object.": "Die Antwort ist ein JSON-Objekt.",
  "JSON schema": "JSON-Schema",
  "The answer is JSON that fits the schema, with its fields in your order.":
    "Die Antwort ist JSON, das zum Schema passt, mit den Feldern in dessen Reihenfolge.",
  Grammar: "Grammatik",
  "The answer fits a grammar in GBNF, which begins with the rule root, or in Lark's notation after a line %llguidance {}.":
    "Die Antwort passt zu einer Grammatik in GBNF, die mit der Regel root beginnt, oder in Larks Schreibweise nach einer Zeile %llguidance {}.",
  "Regular expression": "Regulärer Ausdruck",
  "The whole answer matches it, in Go's syntax: Perl's without look-around.":
    "Die ganze Antwort passt dazu, in Gos Syntax: die von Perl ohne Lookaround.",
  "A person": "Eine Person",
  "A list of texts": "Eine Liste von Texten",
  "A choice": "Eine Auswahl",
  "Yes or no": "Ja oder nein",
  "A list": "Eine Liste",
  "A sum": "Eine Summe",
  "A date": "Ein Datum",
  "A few words": "Ein paar Wörter",
  "Nothing is written yet, so the answer is free.": "Noch steht hier nichts, also ist die Antwort frei.",
  'A grammar needs a rule with the name root, such as root ::= "Yes".':
    'Eine Grammatik braucht eine Regel namens root, etwa root ::= "Yes".',
  'A JSON schema is an object, such as {"type": "object"}.':
    'Ein JSON-Schema ist ein Objekt, etwa {"type": "object"}.',
  "This is not JSON yet: {problem}": "Das ist noch kein JSON: {problem}",
  "It sees the whole vocabulary, so it must stand before {stage}, which drops tokens.":
    "Es sieht das ganze Vokabular und muss deshalb vor {stage} stehen, wo Token wegfallen.",
  Instructions: "Anweisungen",
  Script: "Skript",
  Tools: "Werkzeuge",
  "{n} stop strings": ["{n} Stopptext", "{n} Stopptexte"],
  "Sampler chain": "Sampling-Kette",
  "Template arguments": "Argumente der Vorlage",
  "Token record": "Token-Protokoll",
  Penalties: "Abzüge",
  "Makes tokens less likely if they have occurred in the last part of the chat.":
    "Macht Token weniger wahrscheinlich, die im letzten Teil des Chats vorgekommen sind.",
  "“Don't repeat yourself”: holds back tokens that would continue a phrase from earlier in the chat.":
    "„Don’t repeat yourself“: hält Token zurück, die eine frühere Wendung des Chats fortsetzen würden.",
  "Keeps the tokens that stand out from the noise, at any temperature.":
    "Behält die Token, die sich vom Rauschen abheben, bei jeder Temperatur.",
  "Keeps a fixed number of tokens.": "Behält eine feste Zahl von Token.",
  "Keeps tokens that are neither too expected nor too surprising.":
    "Behält Token, die weder zu erwartbar noch zu überraschend sind.",
  "Keeps few tokens where the model is sure, and many where it is not.":
    "Behält wenige Token, wo das Modell sicher ist, und viele, wo nicht.",
  "Drops the tokens that are unlikely beside the best one.":
    "Verwirft Token, die neben dem besten unwahrscheinlich sind.",
  "“Exclude top choices”: now and then takes the likeliest tokens away, for less worn words.":
    "„Exclude top choices“: nimmt ab und zu die wahrscheinlichsten Token weg, für weniger abgenutzte Wörter.",
  Temperature: "Temperatur",
  "Decides how daring the choice among the remaining tokens is.":
    "Bestimmt, wie gewagt unter den übrigen Token gewählt wird.",
  "Chooses the token at the end, so that the chosen ones are on average as likely as you say.":
    "Wählt am Ende das Token, so dass die gewählten im Mittel so wahrscheinlich sind wie angegeben.",
  Infill: "Lücken füllen",
  "For filling gaps in code: joins tokens that begin alike, and ends where the model is unsure.":
    "Zum Füllen von Lücken in Code: fasst Token mit gleichem Anfang zusammen und endet, wo das Modell unsicher ist.",
  off: "aus",
  tokens: "Token",
  "the whole context": "der ganze Kontext",
  "Low values keep to the likeliest tokens, high ones give rare tokens a chance.":
    "Niedrige Werte bleiben bei den wahrscheinlichsten Token, hohe geben seltenen eine Chance.",
  "always the likeliest token": "immer das wahrscheinlichste Token",
  "Dynamic range": "Dynamikbereich",
  "The temperature moves up and down by this much: up where the model is unsure.":
    "So weit bewegt sich die Temperatur auf und ab: aufwärts, wo das Modell unsicher ist.",
  "Dynamic exponent": "Dynamik-Exponent",
  "How the temperature follows the model's doubt: above 1 it rises late, below 1 early.":
    "Wie die Temperatur den Zweifeln des Modells folgt: über 1 steigt sie spät, unter 1 früh.",
  "Keep at most": "Behalten höchstens",
  "Keeps this many of the likeliest tokens.": "Behält so viele der wahrscheinlichsten Token.",
  "Keep a share of": "Behalten Anteil",
  "Keeps the likeliest tokens that together have this probability.":
    "Behält die wahrscheinlichsten Token, die zusammen diese Wahrscheinlichkeit haben.",
  "Drop below": "Verwerfen unter",
  "Drops tokens less likely than this share of the likeliest one.":
    "Verwirft Token, die weniger wahrscheinlich sind als dieser Anteil des wahrscheinlichsten.",
  "Keeps tokens about as surprising as usual, until they have this probability together.":
    "Behält etwa so überraschende Token wie üblich, bis sie zusammen diese Wahrscheinlichkeit haben.",
  "Keep within": "Behalten innerhalb",
  "Keeps tokens whose logits lie within this many standard deviations of the best.":
    "Behält Token, deren Logits höchstens so viele Standardabweichungen unter dem besten liegen.",
  "How often": "Wie oft",
  "How often the likeliest tokens are taken away, so that less expected ones are written.":
    "Wie oft die wahrscheinlichsten Token weggenommen werden, so dass weniger erwartete kommen.",
  Threshold: "Schwelle",
  "Only tokens at least this likely are taken away, and the least likely of them stays.":
    "Nur mindestens so wahrscheinliche Token werden weggenommen, und das unwahrscheinlichste davon bleibt.",
  "Repeat penalty": "Wiederholungsabzug",
  "Above 1, tokens that have occurred become less likely.":
    "Über 1 werden Token, die schon vorkamen, weniger wahrscheinlich.",
  "Presence penalty": "Präsenzabzug",
  "Is taken off the logit of every token that has occurred.":
    "Wird vom Logit jedes Tokens abgezogen, das schon vorkam.",
  "Frequency penalty": "Häufigkeitsabzug",
  "Is taken off the logit for each time that the token has occurred.":
    "Wird vom Logit abgezogen, für jedes Mal, das das Token vorkam.",
  "Look back": "Rückblick",
  "How far back the penalties look.": "Wie weit die Abzüge zurückblicken.",
  Strength: "Stärke",
  "How strongly a token is held back that would go on with a repetition.":
    "Wie stark ein Token zurückgehalten wird, das eine Wiederholung fortsetzt.",
  Growth: "Wachstum",
  "The penalty is multiplied by this for every further token of the repetition.":
    "Damit wird der Abzug für jedes weitere Token der Wiederholung multipliziert.",
  "Allowed length": "Erlaubte Länge",
  "Repetitions up to this length cost nothing.": "Wiederholungen bis zu dieser Länge kosten nichts.",
  "How far back repetitions are looked for.": "Wie weit zurück nach Wiederholungen gesucht wird.",
  "Sequence breakers": "Trenner",
  "A repetition never goes on across one of these texts.":
    "Über einen dieser Texte hinweg geht keine Wiederholung weiter.",
  Target: "Ziel",
  "The probability that the chosen tokens should have on average.":
    "Die Wahrscheinlichkeit, die gewählte Token im Mittel haben sollen.",
  "of an average|Memory": "Gedächtnis",
  "How slowly earlier tokens are forgotten in that average.":
    "Wie langsam frühere Token in diesem Mittel vergessen werden.",
  "Steers towards one level of surprise, in place of the stages that drop tokens.":
    "Steuert auf ein gleichbleibendes Maß an Überraschung zu, anstelle der Stufen, die Token verwerfen.",
  Surprise: "Überraschung",
  "The surprise to keep to: low values write what is expected.":
    "Das angestrebte Maß an Überraschung: Niedrige Werte schreiben Erwartetes.",
  "Learning rate": "Lernrate",
  "How fast it steers back.": "Wie schnell gegengesteuert wird.",
  "Keep at least": "Behalten mindestens",
  "No stage leaves fewer tokens than this to choose from.": "Keine Stufe lässt weniger Token zur Auswahl.",
  Seed: "Seed",
  "The same request with the same seed has the same answer. Without one, each answer is another.":
    "Dieselbe Anfrage mit demselben Seed hat dieselbe Antwort. Ohne Seed ist jede Antwort anders.",
  Length: "Länge",
  "The answer is cut after this many tokens (max_tokens).":
    "Nach so vielen Token endet die Antwort (max_tokens).",
  "Go on to the limit": "Bis zur Grenze weiter",
  "The model cannot end its answer by itself.": "Das Modell kann seine Antwort nicht selbst beenden.",
  "Time limit": "Zeitlimit",
  "An answer that takes longer ends with an error.":
    "Eine Antwort, die länger braucht, endet mit einem Fehler.",
  Priority: "Priorität",
  "Who goes first when many wait: one step counts as 10 s of waiting. Above 0 the server wants a key for it.":
    "Wer zuerst drankommt, wenn viele warten: Eine Stufe zählt wie 10 s Wartezeit. Über 0 verlangt der Server dafür einen Schlüssel.",
  "Reuse computed prompts": "Berechnete Prompts wiederverwenden",
  "What this chat has in common with earlier prompts is not computed again.":
    "Was dieser Chat mit früheren Prompts gemeinsam hat, wird nicht neu berechnet.",
  "Reasoning budget": "Überlegungsbudget",
  "After this many tokens of reasoning the model has to answer.":
    "Nach so vielen Token Überlegung muss das Modell antworten.",
  "no limit": "kein Limit",
  "no reasoning": "keine Überlegung",
  "Last words of the reasoning": "Schlusswort der Überlegung",
  "Stands at the end of a reasoning that was cut by its budget.":
    "Steht am Ende einer Überlegung, die ihr Budget abgebrochen hat.",
  "Reasoning effort": "Überlegungsaufwand",
  "A level that the model's template knows, such as low or high; none asks it not to reason.":
    "Eine Stufe, die die Vorlage des Modells kennt, etwa low oder high; none heißt: ohne Überlegung.",
  "{value} ({unit})": "{value} ({unit})",
  "It must be a whole number of at least {low}.": "Es muss eine ganze Zahl von mindestens {low} sein.",
  "It must be a number of at least {low}.": "Es muss eine Zahl von mindestens {low} sein.",
  "It must be a whole number from {low} to {high}.": "Es muss eine ganze Zahl von {low} bis {high} sein.",
  "It must be a number from {low} to {high}.": "Es muss eine Zahl von {low} bis {high} sein.",
  on: "an",
  Balanced: "Ausgewogen",
  "The server's own values.": "Die Werte des Servers.",
  Precise: "Genau",
  "Always the likeliest token: the same answer each time.":
    "Immer das wahrscheinlichste Token: jedes Mal dieselbe Antwort.",
  Creative: "Kreativ",
  "A higher temperature, with the unlikely tail cut off relative to the best token.":
    "Eine höhere Temperatur; was neben dem besten Token unwahrscheinlich ist, fällt weg.",
  Varied: "Vielfältig",
  "DRY against phrases that come again, XTC against the most expected words.":
    "DRY gegen wiederkehrende Wendungen, XTC gegen die naheliegendsten Wörter.",
  "There are no presets in this file.": "In dieser Datei sind keine Voreinstellungen.",
  Normal: "Normal",
  "Chain of thought": "Gedankenkette",
  "Monte Carlo": "Monte Carlo",
  "Token healing": "Token-Heilung",
  Vote: "Abstimmung",
  "Look-ahead": "Vorausschau",
  "Best of several": "Beste von mehreren",
  "Best of {n}": "Beste von {n}",
  "{n} side by side": "{n} nebeneinander",
  "as this chat is set": "wie dieser Chat eingestellt ist",
  "temperature {value}": "Temperatur {value}",
  "with {plugin}": "mit {plugin}",
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
  needed: "nötig",
  "{limits}.": "{limits}.",
  "Set {field}": "{field} setzen",
  "Remove {what}": "{what} entfernen",
  "There is nothing to set.": "Hier ist nichts einzustellen.",
  "{path}: {problem} Remove it under “Edit as JSON”.":
    "{path}: {problem} Entfernen lässt es sich unter „Als JSON bearbeiten“.",
  Yes: "Ja",
  "{value} (default)": "{value} (Standard)",
  'It must be an object, such as {"name": 1}.': 'Es muss ein Objekt sein, etwa {"name": 1}.',
  "each {limits}": "jeweils {limits}",
  "{n} more entries can be edited as JSON.": [
    "{n} weiterer Eintrag lässt sich als JSON bearbeiten.",
    "{n} weitere Einträge lassen sich als JSON bearbeiten.",
  ],
  "Add to {list}": "Zu {list} hinzufügen",
  Add: "Hinzufügen",
  "Add at least one.": "Mindestens einen Eintrag hinzufügen.",
  "Move {entry} up": "{entry} nach oben",
  Up: "Nach oben",
  "Move {entry} down": "{entry} nach unten",
  Down: "Nach unten",
  Remove: "Entfernen",
  Configuration: "Konfiguration",
  "Edit as a form": "Als Formular bearbeiten",
  "Edit as JSON": "Als JSON bearbeiten",
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
  "Its files are deleted on the server.": "Seine Dateien werden auf dem Server gelöscht.",
  "Remove {name} for good": "{name} endgültig entfernen",
  Cancel: "Abbrechen",
  // view/palette
  // view/plugins
  "Files that could not be loaded": "Dateien, die sich nicht laden ließen",
  "No plugins yet": "Noch keine Plugins",
  "A plugin takes over one decision of an answer: how the prompt is written, which token comes next, or when the answer ends. It runs in a sandbox with limits of time and memory, and a fault in it ends one answer at most.":
    "Ein Plugin übernimmt eine Entscheidung einer Antwort: wie der Prompt lautet, welches Token als nächstes kommt oder wann die Antwort endet. Es läuft in einer Sandbox mit Grenzen für Zeit und Speicher, und ein Fehler darin beendet höchstens eine Antwort.",
  "Build those that come with the server, and start it with them:":
    "Die mitgelieferten bauen und den Server damit starten:",
  "Or drop a .wasm file here. To write one in Go or Rust takes five minutes: {go}, {rust}.":
    "Oder eine .wasm-Datei hier ablegen. In Go oder Rust ist eine in fünf Minuten geschrieben: {go}, {rust}.",
  "This server takes no changes over the network": "Dieser Server nimmt keine Änderungen über das Netz an",
  "It was started without an admin key. Whoever runs it can start it with one:":
    "Er wurde ohne Admin-Schlüssel gestartet. Wer ihn betreibt, kann ihn mit einem starten:",
  "Or copy the .wasm file into its plugin folder ({option}, by default {folder}). The server finds it there within a second, and it appears here by itself.":
    "Oder die .wasm-Datei in seinen Plugin-Ordner kopieren ({option}, sonst {folder}). Der Server findet sie dort binnen einer Sekunde, und sie erscheint hier von selbst.",
  "No plugins here": "Keine Plugins hier",
  "This server runs no plugins": "Dieser Server führt keine Plugins aus",
  "It may be an older version, or another server than Penstock behind this page.":
    "Vielleicht ist es eine ältere Version oder ein anderer Server als Penstock hinter dieser Seite.",
  "{quarantined} Whoever made it fault again and again has to wait before using it again; others use it as before.":
    "{quarantined} Wer es immer wieder fehlschlagen ließ, muss warten; andere verwenden es wie zuvor.",
  "Quarantined.": "In Quarantäne.",
  "It has faulted {n} times.": ["Es ist einmal fehlgeschlagen.", "Es ist {n}-mal fehlgeschlagen."],
  "End the quarantine": "Quarantäne beenden",
  "Forget the faults": "Fehler vergessen",
  "The last time was at {time}.": "Zuletzt um {time}.",
  "The last time was on {time}.": "Zuletzt am {time}.",
  "Takes part as": "Wirkt mit als",
  "The file has changed and cannot be loaded, so the plugin from before stays in use: {error}":
    "Die Datei hat sich geändert und lässt sich nicht laden; das bisherige Plugin bleibt im Einsatz: {error}",
  "It cannot be used with the model {model}: {error}":
    "Mit dem Modell {model} ist es nicht verwendbar: {error}",
  "Configure and try": "Konfigurieren und ausprobieren",
  "comes with the server": "mit dem Server geliefert",
  "The server's configuration has every request use it (plugins.default).":
    "Die Konfiguration des Servers verwendet es in jeder Anfrage (plugins.default).",
  "In every request": "In jeder Anfrage",
  Quarantined: "In Quarantäne",
  "SHA-256 {hash}: copy": "SHA-256 {hash}: kopieren",
  copied: "kopiert",
  "To change the plugins": "Zum Ändern der Plugins",
  "Sandboxed WebAssembly modules that write the prompt, choose tokens and end answers.":
    "WebAssembly-Module in einer Sandbox, die den Prompt schreiben, Token wählen und Antworten beenden.",
  "Drop the .wasm files here": "Die .wasm-Dateien hier ablegen",
  "You tell short stories.": "Du erzählst kurze Geschichten.",
  "Tell me about a frog.": "Erzähl mir von einem Frosch.",
  "A frog sat on a stone.": "Ein Frosch saß auf einem Stein.",
  "And then?": "Und dann?",
  "Prompt preview": "Vorschau des Prompts",
  "The prompt": "Der Prompt",
  "This chat, up to its last question, as the model would get it.":
    "Dieser Chat bis zu seiner letzten Frage, wie das Modell ihn bekäme.",
  "An example conversation, as the model would get it.": "Ein Beispielgespräch, wie das Modell es bekäme.",
  "The model’s own template": "Die eigene Vorlage des Modells",
  "Prompt of {template}": "Prompt von {template}",
  "One special token": "Ein Sondertoken",
  "{n} more tokens are not shown.": [
    "{n} weiteres Token wird nicht gezeigt.",
    "{n} weitere Token werden nicht gezeigt.",
  ],
  "Remove {plugin}?": "{plugin} entfernen?",
  "This deletes {file} on the server. It cannot be undone. Chats that use the plugin go on without it.":
    "Das löscht {file} auf dem Server und lässt sich nicht rückgängig machen. Chats, die das Plugin verwenden, gehen ohne es weiter.",
  "Try {plugin}": "{plugin} ausprobieren",
  "Try it": "Ausprobieren",
  "A question to try it with": "Eine Frage zum Ausprobieren",
  Try: "Testen",
  "Asked in “{chat}”, in the place of its last question.":
    "Gestellt in „{chat}“, anstelle der letzten Frage.",
  "Without {plugin}": "Ohne {plugin}",
  "With {plugin}": "Mit {plugin}",
  "Tell me a story about a frog.": "Erzähl mir eine Geschichte von einem Frosch.",
  "Both are the same: here the plugin had nothing to change.":
    "Beide sind gleich: Hier hatte das Plugin nichts zu ändern.",
  "This chat uses it already.": "Dieser Chat verwendet es schon.",
  "Do you like it? Switch it on with “Use in this chat”.":
    "Gefällt es? Einschalten mit „In diesem Chat verwenden“.",
  Upload: "Hochladen",
  "Plugin files": "Plugin-Dateien",
  Uploads: "Uploads",
  "Dismiss {what}": "{what} schließen",
  "Waiting for its turn…": "Wartet, bis es drankommt…",
  "{file} is being sent": "{file} wird gesendet",
  "The server checks it…": "Der Server prüft es…",
  "Replace {plugin}?": "{plugin} ersetzen?",
  "There is a plugin {name} already. Answers that run keep the one they began with.":
    "Ein Plugin {name} gibt es schon. Laufende Antworten behalten das, mit dem sie begonnen haben.",
  Now: "Jetzt",
  "not known": "nicht bekannt",
  New: "Neu",
  Replace: "Ersetzen",
  "Keep the old one": "Das alte behalten",
  "Use in this chat": "In diesem Chat verwenden",
  "The chat that is open; it has no messages yet.": "Der offene Chat; er hat noch keine Nachrichten.",
  "“{title}”": "„{title}“",
  "Use in new chats": "In neuen Chats verwenden",
  "Chats that you begin from now on.": "Chats, die ab jetzt beginnen.",
  "Open the chat": "Den Chat öffnen",
  "Do without it in this chat": "In diesem Chat darauf verzichten",
  "Every request to this server uses it; its operator has set that.":
    "Jede Anfrage an diesen Server verwendet es; so ist es von seinem Betreiber eingerichtet.",
  "First complete the configuration. {problem}": "Zuerst die Konfiguration vervollständigen. {problem}",
  "And {n} more.": ["Und {n} weiteres.", "Und {n} weitere."],
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
  "The browser does not let this page copy.": "Der Browser lässt diese Seite nichts kopieren.",
  "The curl command is copied.": "Der curl-Befehl ist kopiert.",
  "Copy as curl": "Als curl kopieren",
  "The request’s body is copied.": "Der Inhalt der Anfrage ist kopiert.",
  "Copy as JSON": "Als JSON kopieren",
  "Tab now leaves the editor.": "Tab verlässt jetzt den Editor.",
  "Tab indents. Press Esc before Tab to leave the editor.": "Tab rückt ein. Esc vor Tab verlässt den Editor.",
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
  "JSON; the script reads it as “config”": "JSON; das Skript liest es als „config“",
  "Its next answers are written with the script, together with the chat's plugins.":
    "Seine nächsten Antworten werden mit dem Skript geschrieben, zusammen mit den Plugins des Chats.",
  "Asked:": "Gefragt:",
  "Write it into the chat and inspect it": "In den Chat schreiben und prüfen",
  // view/settings
  "End of the answer": "Ende der Antwort",
  "Stop strings": "Stopptexte",
  "The answer ends before the first of them. Enter adds one; \\n is a line break.":
    "Vor dem ersten davon endet die Antwort. Enter fügt einen hinzu; \\n ist ein Zeilenumbruch.",
  "stop strings|none": "keine",
  Format: "Format",
  "What the answer is bound to": "Woran die Antwort gebunden ist",
  "Examples:": "Beispiele:",
  Reasoning: "Überlegung",
  "The template of this model knows no levels of reasoning.":
    "Die Vorlage dieses Modells kennt keine Stufen der Überlegung.",
  "For the chat template": "Für die Chat-Vorlage",
  "It must be a JSON object. Until then it is not sent.":
    "Es muss ein JSON-Objekt sein. Bis dahin wird es nicht gesendet.",
  "Values that the template reads, as JSON. Many know enable_thinking.":
    "Werte, die die Vorlage liest, als JSON. Viele kennen enable_thinking.",
  "Time and priority": "Zeit und Priorität",
  "the server's order": "Reihenfolge des Servers",
  "your order": "eigene Reihenfolge",
  "For each token the model rates every word piece. The stages change and thin out these candidates, from top to bottom, until one is drawn. Drag a stage by its handle, or press the arrow keys on it.":
    "Für jedes Token bewertet das Modell alle Wortstücke. Die Stufen verändern und lichten diese Kandidaten von oben nach unten, bis einer gezogen wird. Eine Stufe am Griff ziehen oder dort die Pfeiltasten drücken.",
  "{stage} is now stage {n} of {total}": "{stage} ist jetzt Stufe {n} von {total}",
  Stages: "Stufen",
  "stage {n} of {total}": "Stufe {n} von {total}",
  "Move {stage}": "{stage} verschieben",
  "Drag, or press the arrow keys": "Ziehen oder Pfeiltasten drücken",
  "{stage} was added": "{stage} ist hinzugefügt",
  "There can be at most {n}.": "Höchstens {n} sind möglich.",
  "Then one token is drawn": "Dann wird ein Token gezogen",
  "Keeps how each token was chosen, for the inspector: the candidates before and after every stage. Answers come a little slower.":
    "Hält für den Inspektor fest, wie jedes Token gewählt wurde: die Kandidaten vor und nach jeder Stufe. Antworten kommen etwas langsamer.",
  "Draw a seed": "Einen Seed ziehen",
  "Keep the seed of the last answer, {seed}": "Seed der letzten Antwort behalten: {seed}",
  "version {n}": "Version {n}",
  "The server's own": "Das des Servers",
  "The server's own: {model}": "Das des Servers: {model}",
  "Model: {model}": "Modell: {model}",
  "{model} (not on this server)": "{model} (nicht auf diesem Server)",
  "This server does not have {model}. Choose another.":
    "Dieser Server hat {model} nicht. Ein anderes wählen.",
  "This server does not have {model}; {other} answers in its place.":
    "Dieser Server hat {model} nicht; {other} antwortet an seiner Stelle.",
  "What the model should know or obey in this chat":
    "Was das Modell in diesem Chat wissen oder befolgen soll",
  "The system prompt: it stands before the chat.": "Der System-Prompt: Er steht vor dem Chat.",
  "The template of this model knows no system prompts; it may refuse this one.":
    "Die Vorlage dieses Modells kennt keine System-Prompts; vielleicht lehnt sie diesen ab.",
  "Until then it is not sent.": "Bis dahin wird es nicht gesendet.",
  "The server will refuse it.": "Der Server wird es ablehnen.",
  random: "zufällig",
  default: "Standard",
  "{value} is {meaning}.": "{value} heißt: {meaning}.",
  "Reset “{parameter}”": "„{parameter}“ zurücksetzen",
  "Back to the server's default": "Zurück zum Standard des Servers",
  "Programs, templates, stop rules": "Programme, Vorlagen, Stoppregeln",
  "Plugins that write the whole answer or the prompt, or that end the answer. They have no place in the chain.":
    "Plugins, die die ganze Antwort oder den Prompt schreiben oder die Antwort beenden. In der Kette haben sie keinen Ort.",
  "fill in what is required first": "erst ausfüllen, was nötig ist",
  "Use {name}": "{name} verwenden",
  "This server has no plugin {name}, so it is left out.":
    "Dieser Server hat kein Plugin {name}; es bleibt weg.",
  "A built-in preset has this name. Choose another.":
    "So heißt schon eine eingebaute Voreinstellung. Einen anderen Namen wählen.",
  "Saved as “{name}”.": "Gespeichert als „{name}“.",
  "There is a preset of this name. Choose another.":
    "So heißt schon eine Voreinstellung. Einen anderen Namen wählen.",
  "Renamed to “{name}”.": "Umbenannt in „{name}“.",
  "Preset “{name}” is deleted.": "Die Voreinstellung „{name}“ ist gelöscht.",
  Undo: "Rückgängig",
  Rename: "Umbenennen",
  "Save as preset…": "Als Voreinstellung speichern…",
  "Rename…": "Umbenennen…",
  Delete: "Löschen",
  "Export presets": "Voreinstellungen exportieren",
  "Name of the preset": "Name der Voreinstellung",
  Overwrite: "Überschreiben",
  "{n} presets are there now.": ["{n} Voreinstellung ist jetzt da.", "{n} Voreinstellungen sind jetzt da."],
  "Import presets…": "Voreinstellungen importieren…",
  "File with presets": "Datei mit Voreinstellungen",
  "Enter adds one; \\n is a line break.": "Enter fügt einen hinzu; \\n ist ein Zeilenumbruch.",
  "the server's own": "die des Servers",
  "This server has no such plugin. It is not sent.":
    "Dieser Server hat kein solches Plugin. Es wird nicht gesendet.",
  "If it fails": "Wenn es fehlschlägt",
  "end the answer": "die Antwort beenden",
  "go on without it": "ohne es weitermachen",
  Creativity: "Kreativität",
  Preset: "Voreinstellung",
  "Your preset": "Eigene Voreinstellung",
  "Preset “{name}” is set.": "Die Voreinstellung „{name}“ gilt.",
  "Your own mixture. Save it under a name to use it in other chats.":
    "Eine eigene Mischung. Unter einem Namen gespeichert, ist sie auch in anderen Chats da.",
  "Your preset, as it was saved.": "Eigene Voreinstellung, wie gespeichert.",
  "Use it in a program": "In einem Programm verwenden",
  "What answering the last question again would send now.":
    "Was gesendet würde, um die letzte Frage noch einmal zu beantworten.",
  "What the question “Hello!” would send now.": "Was die Frage „Hello!“ jetzt senden würde.",
  "The key is taken from the variable PENSTOCK_API_KEY.":
    "Der Schlüssel kommt aus der Variablen PENSTOCK_API_KEY.",
  "Form of the request": "Form der Anfrage",
  Copied: "Kopiert",
  "Copy the request": "Anfrage kopieren",
  "The request": "Die Anfrage",
  "New chats begin with these settings.": "Neue Chats beginnen mit diesen Einstellungen.",
  "New chats with {model} begin with these settings.":
    "Neue Chats mit {model} beginnen mit diesen Einstellungen.",
  "Changes count from the next answer on, in this chat alone.":
    "Änderungen gelten ab der nächsten Antwort, nur in diesem Chat.",
  "Use as default for new chats": "Als Standard für neue Chats",
  "Use for new chats with {model}": "Für neue Chats mit {model}",
  "All settings are back at the defaults.": "Alle Einstellungen stehen wieder auf Standard.",
  "Back to defaults": "Zurück zum Standard",
  "{n} tools": ["{n} Werkzeug", "{n} Werkzeuge"],
  Advanced: "Erweitert",
  "sampler chain, end, reasoning, request": "Sampling-Kette, Ende, Überlegung, Anfrage",
  "Add a stage": "Stufe hinzufügen",
  plugin: "Plugin",
  "Add {stage}": "{stage} hinzufügen",
  "switched off": "ausgeschaltet",
  "{stage} in the chain": "{stage} in der Kette",
  "left out by Mirostat": "von Mirostat ausgelassen",
  "no effect at this value": "bei diesem Wert ohne Wirkung",
  "not on this server, left out": "nicht auf diesem Server, bleibt weg",
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
  // view/strategy
  "The chat has another script now.": "Der Chat hat jetzt ein anderes Skript.",
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
  "Say it in a few words.": "Mit wenigen Worten.",
  "This chat has that rule.": "Dieser Chat hat diese Regel schon.",
  "Becomes {what}.": "Wird zu: {what}.",
  "Nothing is known that would see to this. Begin with one of the examples.":
    "Nichts ist bekannt, das dafür sorgen würde. Am besten mit einem der Beispiele beginnen.",
  "The strategy “{name}” is removed.": "Die Strategie „{name}“ ist entfernt.",
  "How the next answers are written": "Wie die nächsten Antworten geschrieben werden",
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
