//! Tests of where programs are found.

use super::*;

#[test]
fn of_several_phps_the_highest_that_the_app_allows_is_found() {
    let directory = tempfile::tempdir().expect("directory");
    for number in ["8.1", "8.3", "9.0"] {
        let path = directory.path().join(format!("php-fpm{number}"));
        let text = format!("#!/bin/sh\necho 'PHP {number}.4 (fpm-fcgi) (built: today)'\n");
        stampede_testing::program::write_program(&path, &text);
    }
    let path = vec![directory.path().to_path_buf()];
    let places = SearchPaths { path, ..SearchPaths::default() };
    let need = Need {
        programs: vec!["php-fpm*".into()],
        version: Some("php-fpm -v".into()),
        ..Need::default()
    };
    let found = |constraint: &str| {
        let of_packages = vec![("composer.json".to_owned(), constraint.to_owned())];
        let required = PhpRequirements { of_packages, are_checked: false };
        let fitting = Fitting { required: Some(&required), ..Fitting::default() };
        let found = places.find_for(&fitting, "php-fpm", &need, None);
        name_of(&found.expect("no error").expect("a PHP").path)
    };
    assert_eq!(found("^8.0"), "php-fpm8.3");
    assert_eq!(found("~8.1.0"), "php-fpm8.1");
    assert_eq!(found(">=7.4"), "php-fpm9.0");
    assert_eq!(found("^7.4"), "php-fpm9.0");
    // What a plan asks for.
    let asked = |version: &str| PhpRequirements::of_plan(version).of_packages[0].1.clone();
    assert_eq!(found(&asked("8.1")), "php-fpm8.1");
    assert_eq!(found(&asked("8.3.4")), "php-fpm8.3");
    assert_eq!(found(&asked("8.3.5")), "php-fpm9.0", "there is none");
}

#[test]
fn working_directories_are_in_memory_if_requested_and_possible() {
    let temp = Path::new("/tmp");
    let of = |memory: Option<&str>, asked: bool| {
        let memory = memory.map(PathBuf::from);
        let places = SearchPaths { temp: Some(temp.into()), memory, ..SearchPaths::default() };
        places.working_directories(asked)
    };
    for none in [None, Some("/proc"), Some("/nowhere")] {
        assert_eq!(of(none, true), temp, "{none:?}");
    }
    assert_eq!(of(Some("/dev/shm"), false), temp);
    let mounts = std::fs::read_to_string("/proc/mounts").expect("mounts");
    let is_shm = |line: &str| {
        line.contains(" /dev/shm tmpfs rw") && !line.contains("noexec") && line.contains("size=")
    };
    if mounts.lines().any(is_shm) && !mounts.contains("size=65536k") {
        assert_eq!(of(Some("/dev/shm"), true), Path::new("/dev/shm"));
    }
}

#[test]
fn the_highest_version_wins_and_neighbours_do_not_match() {
    let directory = tempfile::tempdir().expect("directory");
    for name in ["php", "php8.4", "php8.10", "php7.4", "php-config", "phpize8.4"] {
        std::fs::write(directory.path().join(name), "").expect("file");
    }
    let found = highest(matching(directory.path(), "php*").into_iter());
    assert_eq!(found, Some(directory.path().join("php8.10")));
    assert_eq!(matching(directory.path(), "php*").len(), 4);
    assert_eq!(highest(matching(directory.path(), "nginx").into_iter()), None);
}

#[test]
fn a_directory_in_the_path_may_have_the_version() {
    let directory = tempfile::tempdir().expect("directory");
    for version in ["9", "15", "15-old"] {
        let bin = directory.path().join(version).join("bin");
        std::fs::create_dir_all(&bin).expect("directory");
        std::fs::write(bin.join("postgres"), "").expect("file");
    }
    std::fs::create_dir_all(directory.path().join("17/bin")).expect("directory");
    let need = Need {
        files: vec![directory.path().join("*/bin/postgres").display().to_string()],
        ..Need::default()
    };
    let found = SearchPaths::default().find("postgres", &need, None, None).expect("no error");
    assert_eq!(found.map(|found| found.path), Some(directory.path().join("15/bin/postgres")));
}

#[test]
fn extensions_beside_a_php_belong_to_it() {
    let directory = tempfile::tempdir().expect("directory");
    let php = directory.path().join("frankenphp");
    std::fs::write(&php, "\0/tmp/20220829\0").expect("file");
    assert_eq!(extension_dir(&php), None);
    let beside = directory.path().join("extensions");
    std::fs::create_dir(&beside).expect("directory");
    assert_eq!(extension_dir(&php), Some(beside));
}

#[test]
fn ubuntu_counts_as_debian() {
    let text = "NAME=\"Ubuntu\"\nID=ubuntu\nID_LIKE=debian\n";
    assert_eq!(family(text), ["ubuntu", "debian"]);
}
