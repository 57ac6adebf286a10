// SPDX-License-Identifier: MIT

use guidance_rust::Guidance;
use penstock::testing::{Request, Session};
use penstock::{Token, MEDIA_TOKEN};

const PIECES: [&str; 5] = ["no", "red", "blue", "green", "go"];

/// A model that says red after any prompt, and blue somewhat less where the prompt is "go"; what
/// it says after "no" is still more red.
fn colours(tokens: &[Token]) -> Vec<f32> {
    let likely: [f32; 6] = match (tokens[0], tokens.len()) {
        (0, 1) => [0.01, 0.8, 0.1, 0.05, 0.02, 0.02],
        (_, n) if n <= 2 => [0.01, 0.5, 0.4, 0.01, 0.01, 0.07],
        _ => [0.01, 0.01, 0.01, 0.01, 0.01, 0.95],
    };
    likely.iter().map(|p| p.ln() + 2.0).collect()
}

fn said(config: &str, prompt: &[Token]) -> String {
    let request = Request::new().config(config).pieces(&PIECES).end().sampling(r#"{"temperature":0}"#).says(colours);
    let request = request.prompt(prompt).max_tokens(1).context_size(32).template(|messages| match messages {
        r#"[{"content":"no","role":"user"}]"# => Ok(vec![0]),
        _ => Err(format!("it is {}", messages)),
    });
    Session::<Guidance>::open(request).run().unwrap().iter().map(|s| PIECES[s.token as usize]).collect()
}

/// 1.5 × ln 0.5 − 0.5 × ln 0.8 is less than 1.5 × ln 0.4 − 0.5 × ln 0.1.
#[test]
fn guidance_goes_away_from_the_other_prompt() {
    for (config, want) in [
        (r#"{"scale":1,"negative":"no"}"#, "red"),
        (r#"{"negative":"no"}"#, "blue"),
        (r#"{"messages":[{"content":"no","role":"user"}]}"#, "blue"),
        (r#"{"scale":0,"negative":"no"}"#, "red"),
    ] {
        assert_eq!(said(config, &[4]), want, "{}", config);
    }
}

/// With the scale 10 green would be the best of all, but the model's own answer has it at a
/// fiftieth of the likeliest only.
#[test]
fn guidance_takes_what_is_plausible() {
    assert_eq!(said(r#"{"scale":-10,"negative":"no"}"#, &[4]), "red");
    assert_eq!(said(r#"{"scale":-10,"negative":"no","plausible":0}"#, &[4]), "green");
}

/// Half of the prompt, its last token, is the other prompt; or as much as is wanted.
#[test]
fn guidance_contrasts_with_a_shorter_context() {
    assert_eq!(said("{}", &[4, 0]), "blue");
    assert_eq!(said(r#"{"context":2}"#, &[4, 0]), "red");
    assert_eq!(said(r#"{"context":2}"#, &[MEDIA_TOKEN, 0]), "blue"); // a picture is not in it
}
