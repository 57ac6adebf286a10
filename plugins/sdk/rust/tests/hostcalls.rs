// SPDX-License-Identifier: MIT

//! Makes the calls of plugins/abi/testdata/hostcalls.json, which the real host answers in the same
//! way. The file says what its fields mean.

use penstock::json::{self, Value};
use penstock::testing::{Request, Session};
use penstock::{abi, Manifest, Message, Plugin, Token};

/// What this stub has none of: it has no grammars, and calls a plugin's methods, not the exports
/// that use the others.
const NOT_HERE: [&str; 7] = ["grammar_open", "grammar_accept", "grammar_rest", "grammar_reason", "bind", "emit", "fail"];

/// Of a text that the vocabulary has no pieces for, this stub ends the test.
const NO_PIECES: &str = "abcx";

fn script() -> Value {
    json::parse(include_str!("../../../abi/testdata/hostcalls.json")).expect("the script is JSON")
}

fn items<'a>(of: &'a Value, name: &str) -> &'a [Value] {
    of.get(name).and_then(Value::items).unwrap_or_default()
}

fn number(of: &Value, name: &str) -> i64 {
    of.get(name).and_then(Value::integer).unwrap_or_default()
}

fn text<'a>(of: &'a Value, name: &str) -> &'a str {
    of.get(name).and_then(Value::text).unwrap_or_default()
}

/// A call's arguments: numbers, and buffers of 256 bytes.
struct Args {
    numbers: Vec<i32>,
    buffers: Vec<[u32; 64]>,
}

impl Args {
    fn of(call: &Value) -> Args {
        let mut args = Args { numbers: Vec::new(), buffers: Vec::new() };
        for value in items(call, "args") {
            match value.text() {
                Some(text) => args.buffers.push(words(text.as_bytes())),
                None => args.numbers.push(value.integer().expect("a number") as i32),
            }
        }
        args
    }

    fn p(&mut self, n: usize) -> *mut u8 {
        self.buffers[n].as_mut_ptr() as *mut u8
    }

    /// Makes the call. None: it answers nothing.
    unsafe fn call(&mut self, name: &str) -> Option<i64> {
        let n = self.numbers.clone();
        let answer = match name {
            "config" => abi::config(self.p(0), n[0]),
            "messages" => abi::messages(self.p(0), n[0]),
            "media" => abi::media(self.p(0), n[0]),
            "prompt" => abi::prompt(self.p(0), n[0], self.p(1), n[1]),
            "request" => abi::request(self.p(0), n[0]),
            "history" => abi::history(n[0], self.p(0), n[1]),
            "text" => abi::text(n[0], self.p(0), n[1]),
            "feature" => abi::feature(self.p(0), n[0]),
            "decline" => abi::decline(self.p(0), n[0]),
            "note" => abi::note(self.p(0), n[0]),
            "hold" => abi::hold(n[0]),
            "output" => abi::output(self.p(0), n[0]),
            "state" => abi::state(self.p(0), n[0]),
            "part" => abi::part(),
            "vocab_size" => abi::vocab_size(),
            "piece" => abi::piece(n[0], self.p(0), n[1]),
            "vocab" => abi::vocab(self.p(0), n[0]),
            "token_attr" => abi::token_attr(n[0]),
            "special" => abi::special(n[0]),
            "tokenize" => abi::tokenize(self.p(0), n[0], n[1], self.p(1), n[2]),
            "param" => return Some(abi::param(n[0])),
            "random" => return Some(abi::random()),
            "logprob" => return Some(abi::logprob().is_nan() as i64),
            "log" => {
                abi::log(n[0], self.p(0), n[1]);
                return None;
            }
            _ => panic!("{} is no import that is known here", name),
        };
        Some(i64::from(answer))
    }
}

/// A buffer of 256 bytes that begins with some.
fn words(bytes: &[u8]) -> [u32; 64] {
    let mut all = [0; 256];
    all[..bytes.len()].copy_from_slice(bytes);
    core::array::from_fn(|i| u32::from_ne_bytes([all[4 * i], all[4 * i + 1], all[4 * i + 2], all[4 * i + 3]]))
}

/// Makes calls, and tells which have come out otherwise.
fn differences(calls: &[Value]) -> Vec<String> {
    let mut wrong = Vec::new();
    for call in
        calls.iter().filter(|c| !NOT_HERE.contains(&text(c, "call")) && items(c, "args").iter().all(|a| a.text() != Some(NO_PIECES)))
    {
        let mut args = Args::of(call);
        let mut want = args.buffers.last().copied();
        if let (Some(buffer), [_, ..]) = (&mut want, items(call, "wrote")) {
            let wrote: Vec<u8> = items(call, "wrote").iter().map(|b| b.integer().expect("a byte") as u8).collect();
            let mut bytes: Vec<u8> = buffer.iter().flat_map(|w| w.to_ne_bytes()).collect();
            bytes[..wrote.len()].copy_from_slice(&wrote);
            *buffer = words(&bytes);
        }
        let answer = match u64::from_str_radix(text(call, "bits"), 16) {
            Ok(bits) => bits as i64,
            Err(_) => call.get("nan").map_or(number(call, "answer"), |_| 1),
        };
        let got = unsafe { args.call(text(call, "call")) };
        if got.map_or(false, |got| got != answer) || args.buffers.last().copied() != want {
            wrong.push(format!("{} gives {:?}", call, got));
        }
    }
    wrong
}

struct Asking;

#[penstock::export]
impl Plugin for Asking {
    const MANIFEST: Manifest = Manifest { name: "asking", ..Manifest::DEFAULT };

    fn open(_: &penstock::Request) -> Result<Self, String> {
        match differences(items(&script(), "open")) {
            wrong if wrong.is_empty() => Ok(Asking),
            wrong => Err(wrong.join("\n")),
        }
    }

    fn render(&mut self, _: &[Message]) -> Result<String, String> {
        Ok(differences(items(&script(), "template")).join("\n"))
    }
}

#[test]
fn the_stub_answers_as_the_host_does() {
    let script = script();
    let q = script.get("request").expect("the request");
    let tokens = |list: &[Value]| list.iter().map(|t| t.integer().expect("a token") as Token).collect::<Vec<_>>();
    let mut request = Request::new().config(text(q, "config")).messages(text(q, "messages")).media(text(q, "media"));
    request = request.model(text(q, "model")).sampling(text(q, "sampling")).prompt(&tokens(items(q, "prompt")));
    request = request.max_tokens(number(q, "max_tokens") as usize).context_size(number(q, "context_size") as usize);
    request = request.seed(number(q, "seed") as u64).time(number(q, "time") as u64);
    request = request.choice(number(q, "choice") as usize, number(q, "choices") as usize);
    for (piece, attributes) in items(q, "pieces").iter().zip(items(q, "attributes")) {
        request = request.token(piece.text().expect("a piece").as_bytes(), attributes.integer().expect("bits") as i32);
    }
    request = request.special(penstock::host::Special::Eos, number(q.get("special").expect("special"), "1") as Token);
    request = request.special(penstock::host::Special::Newline, number(q.get("special").expect("special"), "3") as Token);
    let mut session = Session::<Asking>::open(request);
    assert_eq!((session.logs(), session.outputs()), (&["a line".to_string()][..], &[r#"{"a": 1}"#.to_string()][..]));
    assert_eq!(session.render(), Ok(String::new()));
}
