//! That nothing held a case back. By itself: beside other tests' loads its workers wait for a CPU
//! that those have, and that is said.

mod common;

use common::skipped;
use common::why::Said;

#[test]
fn a_load_far_below_every_limit_is_said_to_be_that() {
    if skipped(&["nginx", "php-fpm"]) {
        return;
    }
    let said = Said::of(
        "app: hello
warm_up: 500ms
workers: 8
load: {gentle: {rate: 20, for: 2s}}
runtimes: [nginx-fpm]
",
    );
    let causes = said.causes("nginx-fpm");
    // A machine that is busy with other programs may make the generator late, and that is said.
    let fine = [vec!["below-limits"], vec!["generator"]];
    assert!(fine.contains(&causes), "{}", said.shown("nginx-fpm"));
}
