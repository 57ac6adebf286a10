# SPDX-License-Identifier: MIT
"""Prints the tools of bfcl-eval's data and of MCP servers, one a line, as OpenAI's functions:

    list.py BFCL_DATA FOLDER_OF_NODE_MODULES FOLDER_OF_PYTHON_PROGRAMS

A server is asked over its standard input and output. It needs no account to list its tools, but
some do not start without the name of one."""

import json
import os
import pathlib
import subprocess
import sys
import threading

SETTINGS = (
    "BRAVE_API_KEY EVERART_API_KEY GITHUB_PERSONAL_ACCESS_TOKEN GITLAB_PERSONAL_ACCESS_TOKEN GOOGLE_MAPS_API_KEY "
    "SLACK_BOT_TOKEN SLACK_TEAM_ID AWS_ACCESS_KEY_ID AWS_SECRET_ACCESS_KEY AWS_REGION"
)
ARGUMENTS = {"server-filesystem": ["."], "server-postgres": ["postgresql://127.0.0.1/none"]}

# What bfcl-eval calls types in other words, and how its own OpenAI client writes them.
TYPES = {
    "dict": "object", "HashMap": "object", "Hashtable": "object", "float": "number", "double": "number",
    "long": "integer", "byte": "integer", "short": "integer", "Bigint": "integer", "Boolean": "boolean", "bool": "boolean",
    "tuple": "array", "list": "array", "ArrayList": "array", "Array": "array", "Queue": "array", "Stack": "array",
    "any": "string", "Any": "string", "String": "string", "char": "string", "": "string",
}


def in_json_schema(schema):
    if not isinstance(schema, dict):
        return schema
    made = dict(schema)
    if isinstance(made.get("type"), str):
        made["type"] = TYPES.get(made["type"], made["type"])
    for word in ("items", "additionalProperties"):
        if word in made:
            made[word] = in_json_schema(made[word])
    if isinstance(made.get("properties"), dict):
        made["properties"] = {name: in_json_schema(of) for name, of in made["properties"].items()}
    return made


def functions(data):
    for file in sorted(pathlib.Path(data).rglob("*.json")):
        if "possible_answer" in file.parts or "executable_eval_sanity_check" in file.parts:
            continue
        for line in file.read_text().split("\n"):  # not splitlines: JSON has U+2028 in texts
            try:
                entry = json.loads(line)
            except ValueError:  # of a file that is one value
                break
            found = entry.get("function", entry if "parameters" in entry else []) or []
            yield from found if isinstance(found, list) else [found]


def ask(command, folder):
    """The tools of one MCP server."""
    server = subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, cwd=folder,
        env={**os.environ, **{name: "none" for name in SETTINGS.split()}},
    )
    watchdog = threading.Timer(300, server.kill)
    watchdog.start()

    def send(message):
        server.stdin.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
        server.stdin.flush()

    def result(id):
        for line in server.stdout:
            if line.startswith("{") and (message := json.loads(line)).get("id") == id and "result" in message:
                return message["result"]
        sys.exit(f"{command} does not list its tools")

    try:
        hello = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "penstock", "version": "1"}}
        send({"id": 1, "method": "initialize", "params": hello})
        result(1)
        send({"method": "notifications/initialized"})
        send({"id": 2, "method": "tools/list"})
        return result(2)["tools"]
    finally:
        watchdog.cancel()
        server.kill()


def servers(modules, programs):
    for package in sorted(pathlib.Path(modules, "@modelcontextprotocol").glob("server-*")):
        program = json.loads((package / "package.json").read_text())["bin"]
        program = program if isinstance(program, str) else next(iter(program.values()))
        # Some speak HTTP unless they are told otherwise.
        told = ["--stdio"] if any("--stdio" in file.read_text() for file in package.glob("dist/*.js")) else []
        yield ["node", package / program, *told, *ARGUMENTS.get(package.name, [])]
    yield from ([program] for program in sorted(pathlib.Path(programs).glob("mcp-server-*")))


def main(data, modules, programs):
    seen = set()
    for function in functions(data):
        line = json.dumps({**function, "parameters": in_json_schema(function["parameters"])})
        if line not in seen:
            seen.add(line)
            print(line)
    for command in servers(modules, programs):
        for tool in ask(command, modules):
            print(json.dumps({"name": tool["name"], "description": tool.get("description", ""), "parameters": tool["inputSchema"]}))


main(*map(os.path.abspath, sys.argv[1:]))
