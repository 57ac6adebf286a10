// SPDX-License-Identifier: MIT

//! Makes the calls of plugins/abi/testdata/hostcalls.json, which the real host answers the same
//! way.

use penstock::abi;
use penstock::host::Special;
use penstock::json::{self, Value};
use penstock::testing::{Request, Session};
use penstock::{Manifest, Message, Plugin};

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
        "media" => abi::media(a.buffer(0), a.number(1)),
        "history" => abi::history(a.number(0), a.buffer(1), a.number(2)),
        "text" => abi::text(a.number(0), a.buffer(1), a.number(2)),
        "feature" => abi::feature(a.buffer(0), a.number(1)),
        "param" => return abi::param(a.number(0)),
        "part" => abi::part(),
        "prompt" => abi::prompt(a.buffer(0), a.number(1), a.buffer(2), a.number(3)),
        "state" => abi::state(a.buffer(0), a.number(1)),
        "logprob" => {
            assert!(abi::logprob().is_nan(), "the script has NaN only");
            0
        }
        "request" => abi::request(a.buffer(0), a.number(1)),
        "output" => abi::output(a.buffer(0), a.number(1)),
        "random" => return abi::random(),
        "vocab_size" => abi::vocab_size(),
        "piece" => abi::piece(a.number(0), a.buffer(1), a.number(2)),
        "vocab" => abi::vocab(a.buffer(0), a.number(1)),
        "token_attr" => abi::token_attr(a.number(0)),
        "special" => abi::special(a.number(0)),
        "tokenize" => abi::tokenize(a.buffer(0), a.number(1), a.number(2), a.buffer(3), a.number(4)),
        "note" => abi::note(a.buffer(0), a.number(1)),
        "hold" => abi::hold(a.number(0)),
        "decline" => abi::decline(a.buffer(0), a.number(1)),
        "bind" => abi::bind(a.number(0), a.buffer(1), a.number(2)),
        "grammar_open" => abi::grammar_open(a.number(0), a.buffer(1), a.number(2)),
        "grammar_accept" => abi::grammar_accept(a.number(0), a.number(1)),
        "grammar_rest" => abi::grammar_rest(a.number(0)),
        "grammar_reason" => abi::grammar_reason(a.buffer(0), a.number(1)),
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
    // Safety: the script's lengths fit its buffers, and those live on, but for one that is bound
    // and never used.
    let got = unsafe { make(name, &mut args) };
    let last = args.0.into_iter().rev().find_map(Result::ok);
    assert_eq!((got, last), (answer, want), "{:?}", call);
}

fn script() -> Value {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../abi/testdata/hostcalls.json");
    json::parse(&std::fs::read_to_string(path).unwrap()).unwrap()
}

fn check_all(calls: &str) {
    script().get(calls).and_then(Value::items).unwrap().iter().for_each(check);
}

/// A plugin that makes the script's calls.
struct Caller;

#[penstock::export]
impl Plugin for Caller {
    const MANIFEST: Manifest = Manifest { name: "caller", ..Manifest::DEFAULT };

    fn open(_: &penstock::Request) -> Result<Self, String> {
        check_all("open");
        Ok(Caller)
    }

    fn render(&mut self, _: &[Message]) -> Result<String, String> {
        check_all("template");
        Ok(String::new())
    }
}

#[test]
fn host_gives_the_answers_of_the_real_one() {
    let script = script();
    let told = script.get("request").unwrap();
    let text = |name| told.read::<String>(name).unwrap();
    let mut request = Request::new().config(&text("config")).messages(&text("messages")).media(&text("media")).model(&text("model")).sampling(&text("sampling"));
    let pieces = told.read::<Vec<String>>("pieces").unwrap();
    for (piece, attributes) in pieces.iter().zip(told.read::<Vec<i32>>("attributes").unwrap()) {
        request = request.token(piece.as_bytes(), attributes);
    }
    for (kind, token) in told.get("special").and_then(Value::members).unwrap() {
        let kinds = [Special::Bos, Special::Eos, Special::Eot, Special::Newline];
        request = request.special(kinds[kind.parse::<usize>().unwrap()], token.integer().unwrap() as u32);
    }
    request = request.prompt(&told.read::<Vec<u32>>("prompt").unwrap()).max_tokens(told.read("max_tokens").unwrap());
    request = request.context_size(told.read("context_size").unwrap()).seed(told.read("seed").unwrap());
    request = request.time(told.read("time").unwrap()).choice(told.read("choice").unwrap(), told.read("choices").unwrap());
    let mut session = Session::<Caller>::open(request);
    assert_eq!((session.logs(), session.outputs()), (&["a line".to_string()][..], &["{\"a\": 1}".to_string()][..]));
    assert_eq!(session.render().as_deref(), Ok("a prompt"));
}
