// SPDX-License-Identifier: MIT

use min_p_rust::MinP;
use penstock::testing::{Request, Session};
use penstock::Choice;

#[test]
fn min_p_keeps_what_is_likely_enough() {
    // e^-1 = 0.37 and e^-3.1 = 0.045 times as likely as the best.
    const ROW: [f32; 3] = [2.0, 1.0, -1.1];
    for (config, kept) in [(r#"{"min_p":0.3}"#, 2), ("{}", 2), (r#"{"min_p":0.04}"#, 3), (r#"{"min_p":1}"#, 1), (r#"{"min_p":0}"#, 3)] {
        let mut session = Session::<MinP>::open(Request::new().config(config).pieces(&["a", "b", "c"]));
        assert_eq!(session.sample(&mut [2, 0, 1], &mut ROW.clone()), Choice::Keep(kept), "{}", config);
    }
}
