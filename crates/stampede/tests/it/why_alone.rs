//! Tests that nothing limited a case. This test runs alone: beside the loads of other tests, its
//! workers would wait for a CPU, which would be reported.

use crate::common::skipped;
use crate::common::why::WhyRun;

#[test]
fn a_load_far_below_every_limit_is_reported_as_such() {
    if skipped(&["nginx", "php-fpm"]) {
        return;
    }
    let run_result = WhyRun::of(
        "app: hello
warm_up: 500ms
workers: 8
load: {gentle: {rate: 20, for: 2s}}
runtimes: [nginx-fpm]
",
    );
    let causes = run_result.causes("nginx-fpm");
    // On a machine that is busy with other programs, the generator may have schedule lag, which is
    // reported.
    let fine = [vec!["below-limits"], vec!["generator"]];
    assert!(fine.contains(&causes), "{}", run_result.shown("nginx-fpm"));
}
