#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# Writes what Python's Jinja2, set up as Hugging Face's Transformers does it, makes of the templates
# in cases.txt, and of llama.cpp's templates: `golden.py` writes cases.json, `golden.py templates
# FOLDER` templates.json. With `golden.py serve` it answers lines of JSON, for the test that
# compares templates at random.
# Needs jinja2 (Debian: python3-jinja2). Transformers' environment is immutable; here lists and maps
# may be changed, as some templates do that llama.cpp renders.
import datetime, hashlib, json, os, sys

import jinja2, jinja2.ext
from jinja2 import nodes
from jinja2.sandbox import SandboxedEnvironment

HERE = os.path.dirname(os.path.abspath(__file__))
NOW = datetime.datetime(2026, 3, 5, 14, 7, 9, 123456)


class Generation(jinja2.ext.Extension):
    tags = {"generation"}

    def parse(self, parser):
        line = next(parser.stream).lineno
        body = parser.parse_statements(["name:endgeneration"], drop_needle=True)
        return nodes.CallBlock(self.call_method("_same"), [], [], body).set_lineno(line)

    def _same(self, caller):
        return caller()


def environment():
    e = SandboxedEnvironment(trim_blocks=True, lstrip_blocks=True, extensions=[Generation, jinja2.ext.loopcontrols])

    def tojson(x, ensure_ascii=False, indent=None, separators=None, sort_keys=False):
        return json.dumps(x, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys)

    def raise_exception(message):
        raise jinja2.exceptions.TemplateError(message)

    e.filters["tojson"] = tojson
    e.filters["safe"] = str  # or functionary 3.1's tools would be escaped as HTML, which llama.cpp does not do
    e.globals["raise_exception"] = raise_exception
    e.globals["strftime_now"] = lambda f: NOW.strftime(f)
    return e


ENV = environment()


def render(source, context):
    try:
        return {"text": ENV.from_string(source).render(**context)}
    except RecursionError:
        return {"error": "recursion"}
    except Exception as e:
        return {"error": str(e)}


def cases():
    """The templates: blocks that begin with a line '=== name', or each line of a block '=== lines name'."""
    out, name, lines = {}, None, False
    for line in open(HERE + "/cases.txt", encoding="utf-8", newline="\n").read().split("\n"):
        if line.startswith("=== "):
            name, lines = line[4:], line.startswith("=== lines ")
            n = 0
            if not lines:
                out[name] = None
        elif lines and line:
            n += 1
            out[f"{name[6:]} {n}"] = line
        elif not lines and name:
            out[name] = line if out[name] is None else out[name] + "\n" + line
    return out


def main():
    if sys.argv[1:2] == ["serve"]:
        for line in sys.stdin:
            q = json.loads(line)
            print(json.dumps(render(q["template"], q["context"])), flush=True)
        return
    if sys.argv[1:2] == ["templates"]:
        context = json.load(open(HERE + "/conversations.json", encoding="utf-8"))
        out = {}
        for f in sorted(os.listdir(sys.argv[2])):
            if not f.endswith(".jinja"):
                continue
            source = open(os.path.join(sys.argv[2], f), encoding="utf-8").read()
            row = []
            for c in context:  # a hash each: the texts would be megabytes
                r = render(source, json.loads(json.dumps(c)))
                row.append(hashlib.sha256(r["text"].encode("utf-8", "surrogatepass")).hexdigest()[:12] if "text" in r else "!" + r["error"])
            out[f] = row
        json.dump(out, open(HERE + "/templates.json", "w"), indent=0, ensure_ascii=False)
        return
    context = json.load(open(HERE + "/context.json", encoding="utf-8"))
    out = {name: render(t, json.loads(json.dumps(context))) for name, t in cases().items()}
    json.dump(out, open(HERE + "/cases.json", "w", encoding="utf-8"), indent=0, ensure_ascii=False)


main()
