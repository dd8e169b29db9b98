//! Tests the comparison of what runtimes show.

use super::*;

fn shown(name: &str) -> ObservedRuntime {
    let observed = ObservedState {
        php_version: "8.2.1".into(),
        extensions: vec!["core".into(), "json".into()],
        ini: BTreeMap::from([("memory_limit".into(), "256M".into())]),
        opcache: true,
        workers: 4,
        answer_sha256: "a".into(),
        isolated: true,
        ..ObservedState::default()
    };
    let given = RequestedSetup { workers: 4, ..RequestedSetup::default() };
    ObservedRuntime { name: name.into(), given, observed, body_bytes_mean: None }
}

fn sentences(found: &Differences) -> Vec<String> {
    found.not_comparable.iter().map(ToString::to_string).collect()
}

#[test]
fn equal_runtimes_are_comparable() {
    let equal = [shown("a"), shown("b")];
    assert_eq!(compare_observed(&equal), [Differences::default(), Differences::default()]);
    assert!(compare_observed(&[]).is_empty());
}

#[test]
fn every_difference_has_a_sentence() {
    let mut b = shown("b");
    b.observed.php_version = "8.4.1".into();
    b.observed.extensions = vec!["core".into(), "intl".into()];
    b.observed.ini = BTreeMap::from([("memory_limit".into(), "-1".into())]);
    b.observed.opcache = false;
    b.observed.workers = 2;
    b.observed.answer_sha256 = "b".into();
    b.observed.isolated = false;
    b.observed.notices = vec![Observation::Visible { what: "class".into() }.into()];
    let all = compare_observed(&[shown("a"), b]);
    assert_eq!(all[0], Differences::default());
    insta::assert_snapshot!(sentences(&all[1]).join("\n"), @r"
    it has 2 workers instead of the 4 asked for
    class of one request is still there in the next one
    its answer differs from the others', even without the parts that `mask` removes
    it runs PHP 8.4.1 instead of 8.2.1
    its OPcache is off instead of on
    its php.ini differs: memory_limit `-1` instead of `256M`
    its extensions differ: with extension intl, without extension json
    ");
}

#[test]
fn a_runtime_that_keeps_its_memory_by_design_is_comparable() {
    let mut worker = shown("worker");
    worker.given.keeps_memory = true;
    worker.observed.isolated = false;
    worker.observed.notices = vec![
        Observation::Visible { what: "class".into() }.into(),
        Observation::IsolationNotShown {}.into(),
    ];
    let found = &compare_observed(&[shown("a"), worker.clone()])[1];
    assert_eq!(found.not_comparable, []);
    assert_eq!(found.kept, ["class"]);
    let mut isolated = worker.clone();
    isolated.observed.isolated = true;
    assert_eq!(changed(&isolated, &worker), []);
    worker.given.keeps_memory = false;
    let found = &compare_observed(&[shown("a"), worker])[1];
    let leaks = vec!["class".to_owned()];
    assert_eq!(found.not_comparable, [Mismatch::NotIsolated { leaks }]);
    assert_eq!(found.kept, Vec::<String>::new());
    isolated.given.keeps_memory = false;
    let found = &compare_observed(&[shown("a"), isolated])[1];
    assert_eq!(found.not_comparable, []);
    assert_eq!(found.kept, ["class"], "its runtime.yaml says so");
}

#[test]
fn the_runtime_that_differs_is_not_comparable_even_if_it_is_the_first() {
    let mut odd = shown("odd");
    odd.observed.php_version = "8.4.1".into();
    let all = compare_observed(&[odd, shown("a"), shown("b")]);
    let (version, reference) = ("8.4.1".into(), "8.2.1".into());
    let reasons: Vec<_> = all.into_iter().map(|one| one.not_comparable).collect();
    assert_eq!(reasons, [vec![Mismatch::PhpVersion { version, reference }], vec![], vec![]]);
}

#[test]
fn bodies_of_another_size_under_load_are_not_comparable() {
    let of = |bytes: f64| ObservedRuntime { body_bytes_mean: Some(bytes), ..shown("x") };
    let reasons = |a, b| compare_observed(&[of(a), of(b)])[1].not_comparable.clone();
    assert_eq!(reasons(2_000.0, 2_200.0), []);
    assert_eq!(reasons(100_000.0, 109_000.0), []);
    let other = Mismatch::BodySize { mean_bytes: 92_160.0, reference_bytes: 2_048.0 };
    assert_eq!(reasons(2_048.0, 92_160.0), [other]);
}

#[test]
fn many_keys_are_counted() {
    let (a, mut b) = (shown("a"), shown("b"));
    b.observed.ini.extend((0..9).map(|key| (format!("key{key}"), "1".into())));
    let reasons = sentences(&compare_observed(&[a, b])[1]);
    let words = "its php.ini differs: with key0, with key1, with key2, with key3, with key4, with \
                 key5 and 3 more";
    assert_eq!(reasons, [words]);
}

#[test]
fn forced_and_requested_values_do_not_count_as_differences() {
    let (mut a, mut b) = (shown("a"), shown("b"));
    b.given.forced_extensions = vec!["pcntl".into()];
    b.given.forced_ini = vec!["cli.*".into()];
    b.observed.extensions.push("pcntl".into());
    b.observed.ini.insert("cli.pager".into(), String::new());
    b.observed.ini.insert("cli.prompt".into(), String::new());
    b.observed.ini.insert("memory_limit".into(), "64M".into());
    b.observed.jit = true;
    a.given.ini = asked_ini(
        &[("memory_limit".into(), "256M".into()), ("jit".into(), "disable".into())].into(),
        &BTreeMap::new(),
    );
    b.given.ini = asked_ini(
        &[("memory_limit".into(), "256M".into()), ("jit".into(), "tracing".into())].into(),
        &[("memory_limit".into(), "64M".into())].into(),
    );
    let found = &compare_observed(&[a, b])[1];
    assert_eq!(found.not_comparable, []);
    let ini = |key: &str, value: &str, reference: Option<&str>| {
        let (value, reference) = (Some(value.to_owned()), reference.map(str::to_owned));
        Php::Ini(IniValue { directive: key.to_owned(), value, reference })
    };
    let memory_limit = ini("memory_limit", "64M", Some("256M"));
    assert_eq!(found.asked, [Php::Jit { on: true }, memory_limit]);
    let pcntl = Extension { name: "pcntl".into(), is_loaded: true };
    assert_eq!(found.forced, [ini("cli.*", "", None), Php::Extension(pcntl)]);
}

#[test]
fn an_unrequested_difference_counts_beside_a_requested_one() {
    let (mut a, mut b) = (shown("a"), shown("b"));
    a.given.ini = [("memory_limit".into(), "256M".into())].into();
    b.given.ini = a.given.ini.clone();
    b.observed.ini.insert("memory_limit".into(), "-1".into());
    let found = &compare_observed(&[a, b])[1];
    assert_eq!(sentences(found), ["its php.ini differs: memory_limit `-1` instead of `256M`"]);
}

/// Returns a runtime as a server that was already running shows itself.
fn external(name: &str) -> ObservedRuntime {
    let observed = ObservedState { answer_sha256: "a".into(), ..ObservedState::default() };
    let given = RequestedSetup { provider: ProviderKind::External, ..RequestedSetup::default() };
    ObservedRuntime { name: name.into(), given, observed, body_bytes_mean: None }
}

#[test]
fn extensions_of_this_machine_are_asked_for_by_the_plan() {
    let mut today = shown("today");
    today.given.own_extensions = true;
    today.observed.extensions.push("curl".into());
    today.observed.ini.insert("curl.cainfo".into(), String::new());
    let found = &compare_observed(&[today.clone(), shown("a")])[1];
    assert!(found.not_comparable.is_empty(), "{:?}", found.not_comparable);
    assert_eq!(found.asked.len(), 2, "{:?}", found.asked);
    today.given.own_extensions = false;
    assert_eq!(compare_observed(&[today, shown("a")])[1].not_comparable.len(), 2);
}

#[test]
fn another_patch_release_is_compared_and_another_minor_release_is_not() {
    let of = |version: &str| {
        let mut one = shown("b");
        one.observed.php_version = version.into();
        compare_observed(&[shown("a"), one])[1].clone()
    };
    for patch in ["8.2.30", "8.2.1-0ubuntu1"] {
        let (version, reference) = (patch.to_owned(), "8.2.1".to_owned());
        let found = of(patch);
        assert_eq!(found.forced, [Php::Version { version, reference }]);
        assert!(found.not_comparable.is_empty(), "{:?}", found.not_comparable);
    }
    for minor in ["8.3.1", "8.20.1", "8.2", "9.2.1"] {
        assert_eq!(of(minor).not_comparable.len(), 1, "{minor}");
    }
}

/// Debian's PHP 8.2.36 has a key that 8.2.32 has not, and another default.
#[test]
fn what_another_release_has_by_default_is_part_of_its_version() {
    let of = |version: &str, given: &[&str]| {
        let mut one = shown("b");
        one.observed.php_version = version.into();
        let mut first = shown("a");
        let ini = &mut first.observed.ini;
        ini.insert("memory_hard_limit_percent".into(), String::new());
        ini.insert("session.upload_progress.enabled".into(), "0".into());
        one.observed.ini.insert("session.upload_progress.enabled".into(), "1".into());
        ini.insert("opcache.revalidate_freq".into(), "2".into());
        one.observed.ini.insert("opcache.revalidate_freq".into(), "2".into());
        for key in given {
            let value = first.observed.ini[*key].clone();
            first.given.ini.insert((*key).to_owned(), value.clone());
            one.given.ini.insert((*key).to_owned(), value);
        }
        compare_observed(&[first, one])[1].clone()
    };
    let mut found = of("8.2.0", &[]);
    assert!(found.not_comparable.is_empty(), "{:?}", found.not_comparable);
    let directives = |one: &Php| match one {
        Php::Ini(ini) => Some(ini.directive.clone()),
        _ => None,
    };
    let of_release: Vec<_> = found.forced.iter().filter_map(directives).collect();
    assert_eq!(of_release, ["memory_hard_limit_percent", "session.upload_progress.enabled"]);
    // What was asked for and is otherwise counts, and so does the same release.
    found = of("8.2.0", &["session.upload_progress.enabled"]);
    assert_eq!(sentences(&found).len(), 1, "{:?}", sentences(&found));
    assert_eq!(sentences(&of("8.2.1", &[])).len(), 1);
    // So does what decides how much work PHP has.
    let mut one = shown("b");
    one.observed.php_version = "8.2.0".into();
    one.observed.ini.insert("opcache.revalidate_freq".into(), "0".into());
    assert_eq!(sentences(&compare_observed(&[shown("a"), one])[1]).len(), 1);
}

#[test]
fn an_external_server_is_not_comparable_and_never_the_reference() {
    let all = compare_observed(&[external("x"), external("y"), shown("a")]);
    let reasons: Vec<_> = all.into_iter().map(|one| one.not_comparable).collect();
    let already_running = || vec![Mismatch::AlreadyRunning {}];
    assert_eq!(reasons, [already_running(), already_running(), vec![]]);
    let mut odd = external("z");
    odd.observed.answer_sha256 = "b".into();
    odd.observed.php_version = "8.4.1".into();
    odd.observed.ini = BTreeMap::from([("memory_limit".into(), "128M".into())]);
    let found = &compare_observed(&[shown("a"), odd])[1];
    insta::assert_snapshot!(sentences(found).join("\n"), @r"
    it was already running, so stampede did not set its CPUs or settings
    its answer differs from the others', even without the parts that `mask` removes
    it runs PHP 8.4.1 instead of 8.2.1
    its php.ini differs: memory_limit `128M` instead of `256M`
    ");
    assert!(found.asked.is_empty() && found.forced.is_empty());
    let all = compare_observed(&[external("x"), external("y")]);
    assert!(all.iter().all(|one| one.not_comparable == already_running()));
}

#[test]
fn compose_projects_with_other_versions_of_php_are_compared() {
    let of = |provider, version: &str| {
        let mut one = external("x");
        one.given.provider = provider;
        one.observed.php_version = version.into();
        one
    };
    let (native, compose) = (ProviderKind::Native, ProviderKind::Compose);
    for (first, second) in [(compose, compose), (native, compose)] {
        let (mut first, second) = (of(first, "8.2.1"), of(second, "8.4.1"));
        first.observed.isolated = true;
        let found = &compare_observed(&[first, second])[1];
        let (version, reference) = ("8.4.1".to_owned(), "8.2.1".to_owned());
        assert_eq!(found.asked, [Php::Version { version, reference }]);
        assert!(found.not_comparable.is_empty(), "{:?}", found.not_comparable);
    }
}

#[test]
fn a_pool_that_grows_may_begin_small_but_not_exceed() {
    let mut one = shown("a");
    (one.given.grows, one.observed.workers) = (true, 1);
    assert!(own_mismatches(&one).is_empty());
    one.observed.workers = 9;
    assert_eq!(own_mismatches(&one), [Mismatch::Workers { workers: 9, asked: 4 }]);
}

#[test]
fn threads_of_a_php_that_is_not_thread_safe_are_never_ranked() {
    let mut one = shown("a");
    one.given.threads = true;
    assert_eq!(own_mismatches(&one), [Mismatch::NotThreadSafe {}]);
    one.observed.thread_safe = true;
    assert!(own_mismatches(&one).is_empty());
}

#[test]
fn a_change_under_load_is_suspect_and_another_answer_is_invalid() {
    assert_eq!(changed(&shown("a"), &shown("a")), []);
    let mut after = shown("a");
    after.observed.workers = 3;
    after.observed.opcache = false;
    let suspect = |difference| (Validity::Suspect, Server::Changed { difference });
    let mut expected = vec![
        suspect(Mismatch::Opcache { on: false }),
        suspect(Mismatch::WorkersChanged { workers: 3, before: 4 }),
    ];
    assert_eq!(changed(&shown("a"), &after), expected);
    after.observed.answer_sha256 = "b".into();
    expected.push((Validity::Invalid, Server::AnswerChanged { shown: None }));
    assert_eq!(changed(&shown("a"), &after), expected);
}

/// A project in containers whose PHP can be asked after the load, and could not be before it.
#[test]
fn a_php_that_is_known_only_after_the_load_has_not_changed() {
    let (mut before, mut after) = (shown("a"), shown("a"));
    after.observed.sapi = "fpm-fcgi".into();
    before.observed.php_version.clear();
    before.observed.ini.clear();
    before.observed.extensions.clear();
    before.observed.opcache = false;
    assert_eq!(changed(&before, &after), []);
    assert_eq!(changed(&after, &before), []);
    before.observed.sapi = "fpm-fcgi".into();
    assert_eq!(changed(&before, &after).len(), 4);
}

#[test]
fn a_growing_pool_and_an_unknown_number_of_workers_are_no_change() {
    let (mut before, mut after) = (shown("a"), shown("a"));
    after.observed.workers = 0;
    assert_eq!(changed(&before, &after), []);
    (before.given.grows, after.given.grows, after.observed.workers) = (true, true, 40);
    assert_eq!(changed(&before, &after), []);
}

fn project(name: &str) -> ObservedRuntime {
    let mut one = shown(name);
    one.given = RequestedSetup { provider: ProviderKind::Compose, ..RequestedSetup::default() };
    one.observed.sapi = "fpm-fcgi".into();
    one.observed.isolated = false;
    one.observed.workers = 0;
    one
}

/// A project brings its own php.ini: what decides how much work PHP has counts, in either order.
#[test]
fn of_a_proven_php_in_containers_what_matters_is_compared() {
    let mut native = shown("a");
    native.observed.sapi = "fpm-fcgi".into();
    native.given.ini = BTreeMap::from([("memory_limit".into(), "256M".into())]);
    let of = |name: &str, values: &[(&str, &str)]| {
        let mut one = project(name);
        let values = values.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned()));
        one.observed.ini.extend(values);
        one
    };
    let alike = of("b", &[("session.save_path", "/tmp"), ("date.timezone", "UTC")]);
    let mut other = of("c", &[("memory_limit", "128M"), ("opcache.validate_timestamps", "0")]);
    other.observed.extensions = vec!["core".into(), "intl".into(), "xdebug".into()];
    let found = compare_observed(&[native.clone(), alike.clone(), other.clone()]);
    assert_eq!(found[..2], [Differences::default(), Differences::default()]);
    insta::assert_snapshot!(sentences(&found[2]).join("\n"), @r"
    its php.ini differs: memory_limit `128M` instead of `256M`, with opcache.validate_timestamps
    its extensions differ: with extension xdebug
    ");
    let both = compare_observed(&[other.clone(), native]);
    assert_eq!(sentences(&both[1]).len(), 2, "{both:?}");
    other.observed.opcache = false;
    let found = compare_observed(&[alike, other]);
    insta::assert_snapshot!(sentences(&found[1]).join("\n"), @r"
    its OPcache is off instead of on
    its php.ini differs: memory_limit `128M` instead of `256M`
    its extensions differ: with extension xdebug
    ");
}

/// PHP 8.4 has other defaults for a JIT that is off in both.
#[test]
fn the_settings_of_a_jit_matter_where_there_is_one() {
    let of = |name: &str, how: &str, bytes: &str, on: bool| {
        let mut one = project(name);
        one.observed.ini.insert("opcache.jit".into(), how.into());
        one.observed.ini.insert("opcache.jit_buffer_size".into(), bytes.into());
        one.observed.jit = on;
        one
    };
    let old = of("a", "tracing", "0", false);
    assert_eq!(differences(&old, &of("b", "disable", "64M", false)).not_comparable, []);
    let found =
        differences(&of("a", "tracing", "64M", true), &of("b", "function", "67108864", true));
    assert_eq!(found.not_comparable.len(), 1, "{found:?}");
    let found = differences(&old, &of("b", "tracing", "64M", true));
    insta::assert_snapshot!(sentences(&found).join("\n"), @r"
    its JIT is on instead of off
    its php.ini differs: opcache.jit_buffer_size `64M` instead of `0`
    ");
}

#[test]
fn a_project_whose_php_is_not_known_is_marked_and_only_its_answers_are_compared() {
    let mut unproven = project("b");
    unproven.observed = ObservedState { answer_sha256: "a".into(), ..ObservedState::default() };
    let why = crate::fact::php_proof::Unproven::Silent {};
    unproven.observed.notices = vec![Observation::PhpUnproven { why: why.clone() }.into()];
    let marked = [Mismatch::PhpUnproven { why }];
    for (order, index) in [([shown("a"), unproven.clone()], 1), ([unproven, project("a")], 0)] {
        let found = compare_observed(&order);
        assert_eq!(found[index].not_comparable, marked);
        assert_eq!(found[1 - index].not_comparable, []);
    }
}

/// A misspelt build argument leaves every row with the same PHP.
#[test]
fn a_project_with_another_php_than_the_plan_asks_for_is_marked() {
    let of = |version: &str, asked: &str| {
        let mut one = project("b");
        one.observed.php_version = version.to_owned();
        one.given.php = asked.to_owned();
        own_mismatches(&one)
    };
    for (version, asked) in [("8.4.1", "8.4"), ("8.4.1", "8.4.1"), ("8.4.1", ""), ("", "8.4")] {
        assert_eq!(of(version, asked), [], "{version} for {asked}");
    }
    for (version, asked) in [("8.2.29", "8.4"), ("8.40.1", "8.4"), ("8.4.11", "8.4.1")] {
        let reference = asked.to_owned();
        let expected = [Mismatch::PhpVersion { version: version.to_owned(), reference }];
        assert_eq!(of(version, asked), expected);
    }
}

#[test]
fn what_is_asked_of_one_project_is_no_reason_for_a_mark() {
    let of = |name: &str, asked: Option<&str>, has: &str| {
        let mut one = project(name);
        one.observed.sapi = "fpm-fcgi".to_owned();
        one.observed.ini.insert("memory_limit".into(), has.into());
        one.given.ini.extend(asked.map(|value| ("memory_limit".into(), value.into())));
        one
    };
    let (usual, more) = (of("a", None, "128M"), of("b", Some("1G"), "1G"));
    for (first, one) in [(&usual, &more), (&more, &usual)] {
        let found = differences(first, one);
        assert_eq!((found.not_comparable.len(), found.asked.len()), (0, 1), "{found:?}");
    }
    let other = of("b", None, "1G");
    assert_eq!(differences(&usual, &other).not_comparable.len(), 1, "nobody asked for it");
}

/// A pool may set a value that no php.ini changes.
#[test]
fn a_project_whose_php_does_not_take_a_value_is_marked() {
    let of = |asked: &str, found: Option<&str>| {
        let mut one = project("b");
        one.observed.sapi = "fpm-fcgi".to_owned();
        one.given.ini.insert("memory_limit".into(), asked.into());
        let found = found.map(|found| ("memory_limit".into(), found.into()));
        one.observed.ini = found.into_iter().collect();
        own_mismatches(&one).iter().map(ToString::to_string).collect::<String>()
    };
    assert_eq!(of("128M", Some("134217728")), "");
    insta::assert_snapshot!([of("1G", Some("64M")), of("1G", None)].join("\n"));
    let mut worker = project("b");
    worker.observed.sapi = "cli".to_owned();
    for (name, value) in
        [("max_execution_time", "30"), ("zend_extension", "xdebug"), ("error_reporting", "E_ALL")]
    {
        worker.given.ini.insert(name.into(), value.into());
    }
    worker.observed.ini.insert("error_reporting".into(), "32767".into());
    assert_eq!(own_mismatches(&worker), []);
    let mut unproven = project("b");
    unproven.given.ini.insert("memory_limit".into(), "1G".into());
    unproven.observed.sapi = String::new();
    assert_eq!(own_mismatches(&unproven), []);
}

/// The plan asks each row for a version: that is no reason for a mark, nor is what comes with it.
#[test]
fn versions_that_the_plan_asks_for_are_compared() {
    let of = |version: &str, asked: &str| {
        let mut one = shown(asked);
        one.observed.php_version = format!("{version}.1");
        one.given.php = asked.to_owned();
        one.observed.extensions.extend((version == "8.5").then(|| "uri".to_owned()));
        one
    };
    let found = differences(&of("8.2", "8.2"), &of("8.5", "8.5"));
    assert_eq!(found.not_comparable, []);
    let (version, reference) = ("8.5.1".to_owned(), "8.2.1".to_owned());
    assert_eq!(found.asked, [Php::Version { version, reference }]);
    let marked = differences(&of("8.2", ""), &of("8.4", ""));
    assert!(matches!(marked.not_comparable[0], Mismatch::PhpVersion { .. }), "{marked:?}");
    // An extension that one of them lacks still counts.
    let mut lacks = of("8.5", "8.5");
    lacks.observed.extensions.retain(|name| name != "json");
    let found = differences(&of("8.2", "8.2"), &lacks);
    assert!(matches!(found.not_comparable[..], [Mismatch::Extensions { .. }]), "{found:?}");
    let mut packaged = of("8.4", "8.4.1");
    packaged.observed.php_version = "8.4.1-1ubuntu2".to_owned();
    assert_eq!(own_mismatches(&packaged), []);
    let other = own_mismatches(&of("8.2", "8.4"));
    assert!(matches!(other[..], [Mismatch::PhpVersion { .. }]), "{other:?}");
}
