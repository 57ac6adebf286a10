// SPDX-License-Identifier: MIT

//! Makes the calls of plugins/abi/testdata/hostcalls.json, which the real host answers the same way.

use penstock::abi;
use penstock::json::{self, Value};
use penstock::testing::Host;

/// An argument that is a text is a buffer of this size, which begins with it.
const BUFFER: usize = 256;

/// The buffers and numbers of a call's arguments, in their order.
struct Args(Vec<Result<Vec<u32>, i32>>);

impl Args {
    fn read(call: &Value) -> Args {
        let argument = |value: &Value| match value.text() {
            None => Err(value.integer().unwrap() as i32),
            Some(text) => Ok(words(text.as_bytes())),
        };
        Args(call.get("args").and_then(Value::items).unwrap().iter().map(argument).collect())
    }

    fn number(&self, index: usize) -> i32 {
        *self.0[index].as_ref().unwrap_err()
    }

    fn buffer(&mut self, index: usize) -> *mut u8 {
        self.0[index].as_mut().unwrap().as_mut_ptr() as *mut u8
    }
}

/// A buffer that begins with these bytes, aligned to 4.
fn words(bytes: &[u8]) -> Vec<u32> {
    let mut all = bytes.to_vec();
    all.resize(BUFFER, 0);
    all.chunks(4).map(|c| u32::from_ne_bytes([c[0], c[1], c[2], c[3]])).collect()
}

/// Makes a call and gives its answer; 0 where it has none.
unsafe fn make(name: &str, a: &mut Args) -> i64 {
    i64::from(match name {
        "config" => abi::config(a.buffer(0), a.number(1)),
        "messages" => abi::messages(a.buffer(0), a.number(1)),
        "history" => abi::history(a.number(0), a.buffer(1), a.number(2)),
        "feature" => abi::feature(a.buffer(0), a.number(1)),
        "param" => return abi::param(a.number(0)),
        "random" => return abi::random(),
        "vocab_size" => abi::vocab_size(),
        "piece" => abi::piece(a.number(0), a.buffer(1), a.number(2)),
        "vocab" => abi::vocab(a.buffer(0), a.number(1)),
        "token_attr" => abi::token_attr(a.number(0)),
        "special" => abi::special(a.number(0)),
        "tokenize" => abi::tokenize(a.buffer(0), a.number(1), a.number(2), a.buffer(3), a.number(4)),
        "bind" => abi::bind(a.number(0), a.buffer(1), a.number(2)),
        "grammar_open" => abi::grammar_open(a.number(0), a.buffer(1), a.number(2)),
        "grammar_accept" => abi::grammar_accept(a.number(0), a.number(1)),
        "emit" => return (abi::emit(a.buffer(0), a.number(1)), 0).1,
        "fail" => return (abi::fail(a.buffer(0), a.number(1)), 0).1,
        "log" => return (abi::log(a.number(0), a.buffer(1), a.number(2)), 0).1,
        _ => panic!("{} is no import", name),
    })
}

fn check(call: &Value) {
    let name = call.get("call").and_then(Value::text).unwrap();
    let mut args = Args::read(call);
    let mut want = args.0.iter().rev().find_map(|a| a.clone().ok());
    if let (Some(want), Some(wrote)) = (&mut want, call.get("wrote").and_then(Value::items)) {
        let wrote: Vec<u8> = wrote.iter().map(|b| b.integer().unwrap() as u8).collect();
        *want = words(&wrote); // what is written to is empty before
    }
    let answer = match call.get("bits").and_then(Value::text) {
        Some(bits) => u64::from_str_radix(bits, 16).unwrap() as i64,
        None => call.get("answer").and_then(Value::integer).unwrap_or(0),
    };
    // Safety: the script's lengths fit its buffers, and those live on, but for one that is bound and never used.
    let got = unsafe { make(name, &mut args) };
    let last = args.0.into_iter().rev().find_map(Result::ok);
    assert_eq!((got, last), (answer, want), "{:?}", call);
}

#[test]
fn host_gives_the_answers_of_the_real_one() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../abi/testdata/hostcalls.json");
    let script = json::parse(&std::fs::read_to_string(path).unwrap()).unwrap();
    let request = script.get("request").unwrap();
    let text = |name| request.get(name).and_then(Value::text).unwrap().to_string();
    let number = |name| request.get(name).and_then(Value::integer).unwrap() as usize;
    let numbers = |name| request.get(name).and_then(Value::items).unwrap().iter().map(|n| n.integer().unwrap() as i32);
    let pieces = request.get("pieces").and_then(Value::items).unwrap().iter().map(|p| p.text().unwrap().as_bytes().to_vec());
    let special = request.get("special").and_then(Value::members).unwrap().iter();
    let history: Vec<u32> = numbers("prompt").map(|t| t as u32).collect();
    Host {
        config: text("config"),
        prompt_tokens: history.len(),
        history,
        vocabulary: pieces.zip(numbers("attributes")).collect(),
        special: special.map(|(kind, token)| (kind.parse().unwrap(), token.integer().unwrap() as u32)).collect(),
        max_tokens: number("max_tokens"),
        context_size: number("context_size"),
        seed: number("seed") as u64,
        ..Host::default()
    }
    .install();
    for call in script.get("open").and_then(Value::items).unwrap() {
        check(call);
    }
    Host::change(|h| h.messages = text("messages"));
    for call in script.get("template").and_then(Value::items).unwrap() {
        check(call);
    }
    let told = Host::current();
    assert_eq!((&told.logged[..], &told.failed[..], &told.emitted[..]), (&["a line".to_string()][..], "no reason", &b"a prompt"[..]));
}
