//! A load of which nothing was answered is no measurement.

use std::time::Duration;

use crate::common::{Place, finish, stderr, stdout};

#[test]
fn a_load_that_nobody_answers_ends_with_exit_code_3() {
    let place = Place::new();
    // Port 1 of loopback: nobody listens there.
    let args = ["fire", "http://127.0.0.1:1/", "--users", "2", "--requests", "4"];
    let output = finish(place.stampede(&args), Duration::from_secs(60));
    let said = stdout(&output) + &stderr(&output);
    assert_eq!(output.status.code(), Some(3), "{said}");
}
