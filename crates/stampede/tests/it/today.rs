//! Tests the runtime `today`: what a made-up machine sets is what the app sees.

use std::path::PathBuf;
use std::time::Duration;

use crate::common::{Sandbox, finish, skipped, stderr, stdout};
use crate::words::code_or;

const LIMIT: Duration = Duration::from_secs(120);
const QUICK: [&str; 8] = ["--concurrency", "2", "--for", "1s", "--warm-up", "0s", "--rounds", "1"];
/// The values that the app shows, one a line.
const APP: &str = r#"<?php
foreach (['memory_limit', 'max_execution_time', 'session.name', 'opcache.validate_timestamps', 'post_max_size'] as $key) {
    echo $key, '=', ini_get($key), "\n";
}
echo 'REGION=', getenv('REGION'), "\n", 'gd=', (int) extension_loaded('gd'), "\n";
"#;

/// A machine with nginx and PHP-FPM, below a directory of the sandbox.
fn machine(sandbox: &Sandbox) -> PathBuf {
    for (path, text) in [
        (
            "php/8.2/fpm/php.ini",
            "memory_limit = 93M\npost_max_size = 8M\n[Session]\nsession.name = SHOPSESSID\n",
        ),
        ("php/8.2/fpm/conf.d/10-opcache.ini", "zend_extension=opcache.so\n"),
        ("php/8.2/fpm/conf.d/20-mbstring.ini", "extension=mbstring.so\n"),
        ("php/8.2/fpm/php-fpm.conf", "[global]\ninclude=/etc/php/8.2/fpm/pool.d/*.conf\n"),
        (
            "php/8.2/fpm/pool.d/www.conf",
            "[www]\nuser = www-data\nlisten = /run/php/shop.sock\npm = dynamic\npm.max_children = 3\n\
             pm.start_servers = 2\npm.min_spare_servers = 1\npm.max_spare_servers = 2\n\
             php_admin_value[max_execution_time] = 77\nenv[REGION] = eu\nenv[API_KEY] = s3cr3t-value-99\n",
        ),
        (
            "nginx/nginx.conf",
            "worker_processes auto;\nevents { worker_connections 768; }\nhttp { sendfile on; gzip on; \
             gzip_types text/css; keepalive_timeout 65; include /etc/nginx/sites-enabled/*; }\n",
        ),
        (
            "nginx/sites-enabled/shop",
            "server { root /var/www/html; fastcgi_buffers 16 32k; client_max_body_size 20m;\n\
             location ~ \\.php$ { fastcgi_pass unix:/run/php/shop.sock; } }\n",
        ),
    ] {
        sandbox.write(&format!("machine/etc/{path}"), text);
    }
    sandbox.path().join("machine")
}

/// What the made-up machine's `today` starts.
const PROGRAMS: [&str; 2] = ["nginx", "php-fpm8.2"];

#[test]
fn today_has_the_settings_of_the_machine() {
    if skipped(&PROGRAMS) {
        return;
    }
    let sandbox = Sandbox::new();
    sandbox.write("shop/index.php", APP);
    let args = [&["compare", "--app", "./shop", "--runtimes", "today,nginx-fpm"][..], &QUICK];
    let mut command = sandbox.stampede(&args.concat());
    command.env("STAMPEDE_HOST_ROOT", machine(&sandbox));
    let output = finish(command, LIMIT);
    let printed = stdout(&output) + &stderr(&output);
    let answer = |runtime: &str| {
        let trials = std::fs::read_dir(sandbox.run().join("trials")).expect("trials").flatten();
        let trial = trials
            .map(|entry| entry.path())
            .find(|path| path.display().to_string().contains(&format!("-{runtime}")))
            .unwrap_or_else(|| panic!("no trial of {runtime}: {printed}"));
        std::fs::read_to_string(trial.join("answer.txt")).expect(&printed)
    };
    let today = answer("today");
    for line in [
        "memory_limit=93M",
        "max_execution_time=77",
        "session.name=SHOPSESSID",
        "opcache.validate_timestamps=1",
        "post_max_size=8M",
        "REGION=eu",
        "gd=0",
    ] {
        assert!(today.contains(line), "{line}: {today}\n{printed}");
    }
    let other = answer("nginx-fpm");
    for line in ["memory_limit=256M", "opcache.validate_timestamps=0", "REGION=\n"] {
        assert!(other.contains(line), "{line}: {other}");
    }
    let record = std::fs::read_to_string(sandbox.run().join("run.json")).expect("a record");
    assert!(!record.contains("s3cr3t-value-99"), "{record}");
    assert!(record.contains("\"as_today\"") && record.contains("/etc/php/8.2/fpm/pool.d/www.conf"));
    assert_eq!(sandbox.left_behind(), [] as [String; 0]);
}

#[test]
fn a_machine_that_is_set_up_otherwise_is_named_once() {
    if skipped(&PROGRAMS) {
        return;
    }
    let sandbox = Sandbox::new();
    sandbox.write("shop/index.php", APP);
    let args = [
        &["compare", "--app", "./shop", "--dry-run", "--json", "--runtimes", "nginx-fpm"][..],
        &QUICK,
    ];
    let said = |root: PathBuf, app: &str| {
        let mut args = args.concat();
        args[2] = app;
        let mut command = sandbox.stampede(&args);
        command.env("STAMPEDE_HOST_ROOT", root);
        let output = finish(command, LIMIT);
        assert!(output.status.success(), "{}", stderr(&output));
        stdout(&output).matches("\"code\": \"host_php\"").count()
    };
    assert_eq!(said(machine(&sandbox), "./shop"), 1);
    assert_eq!(said(machine(&sandbox), "hello"), 0, "not the user's own app");
    assert_eq!(said(sandbox.path().join("nothing"), "./shop"), 0);
}

#[test]
fn without_any_server_today_is_an_error_that_says_what_was_looked_for() {
    let sandbox = Sandbox::new();
    sandbox.write("shop/index.php", APP);
    let args = [&["compare", "--app", "./shop", "--runtimes", "today"][..], &QUICK];
    let mut command = sandbox.stampede(&args.concat());
    command.env("STAMPEDE_HOST_ROOT", sandbox.path());
    let output = finish(command, LIMIT);
    assert_eq!(output.status.code(), Some(2), "{}", stdout(&output));
    let said = stderr(&output);
    assert!(said.contains("/etc/php/VERSION") || cfg!(feature = "codes-for-text"), "{said}");
}

/// A machine whose only web server is Apache, with `mod_php` or with PHP-FPM behind it.
fn apache_machine(sandbox: &Sandbox, handler: &str) -> PathBuf {
    let is_fpm = handler == "fpm";
    let php = if is_fpm { "php/8.2/fpm" } else { "php/8.2/apache2" };
    sandbox.write(&format!("machine/etc/{php}/php.ini"), "memory_limit = 91M\n");
    let (mpm, load) = match is_fpm {
        true => ("event", "LoadModule proxy_fcgi_module modules/mod_proxy_fcgi.so\n"),
        false => ("prefork", "LoadModule php_module modules/libphp8.2.so\n"),
    };
    let handler = match is_fpm {
        true => {
            "<FilesMatch \\.php$>\nSetHandler \"proxy:unix:/run/php/shop.sock|fcgi://localhost\"\n</FilesMatch>\n"
        }
        false => {
            "<FilesMatch \\.php$>\nSetHandler application/x-httpd-php\n</FilesMatch>\nphp_admin_value max_execution_time 76\n"
        }
    };
    if is_fpm {
        sandbox.write(
            "machine/etc/php/8.2/fpm/php-fpm.conf",
            "[global]\ninclude=/etc/php/8.2/fpm/pool.d/*.conf\n",
        );
        sandbox.write(
            "machine/etc/php/8.2/fpm/pool.d/www.conf",
            "[www]\nlisten = /run/php/shop.sock\npm = static\npm.max_children = 3\n\
             php_admin_value[max_execution_time] = 76\n",
        );
    }
    let main = "IncludeOptional mods-enabled/*.load\nIncludeOptional mods-enabled/*.conf\n\
                IncludeOptional sites-enabled/*.conf\n";
    let mpm_load = format!("LoadModule mpm_{mpm}_module modules/mod_mpm_{mpm}.so\n");
    for (path, text) in [
        ("apache2.conf", main.to_owned()),
        ("mods-enabled/mpm.load", mpm_load),
        ("mods-enabled/php.load", load.to_owned()),
        ("mods-enabled/mpm.conf", "MaxRequestWorkers 5\n".to_owned()),
        (
            "sites-enabled/shop.conf",
            format!("<VirtualHost *:80>\nDocumentRoot /var/www/html\n{handler}</VirtualHost>\n"),
        ),
    ] {
        sandbox.write(&format!("machine/etc/apache2/{path}"), &text);
    }
    sandbox.path().join("machine")
}

#[test]
#[ignore = "long: 19 s"]
fn today_is_apache_where_apache_serves_the_app() {
    for (handler, programs) in [("mod", &["apache2"][..]), ("fpm", &["apache2", "php-fpm8.2"])] {
        if skipped(programs) {
            continue;
        }
        let sandbox = Sandbox::new();
        sandbox.write("shop/index.php", APP);
        let args = [&["compare", "--app", "./shop", "--runtimes", "today,php-builtin"][..], &QUICK];
        let mut command = sandbox.stampede(&args.concat());
        command.env("STAMPEDE_HOST_ROOT", apache_machine(&sandbox, handler));
        let output = finish(command, LIMIT);
        let printed = stdout(&output) + &stderr(&output);
        let trials = std::fs::read_dir(sandbox.run().join("trials")).expect("trials").flatten();
        let trial = trials
            .map(|entry| entry.path())
            .find(|path| path.display().to_string().contains("-today"))
            .unwrap_or_else(|| panic!("no trial of today: {printed}"));
        let answer = std::fs::read_to_string(trial.join("answer.txt")).expect(&printed);
        for line in ["memory_limit=91M", "max_execution_time=76", "opcache.validate_timestamps=1"] {
            assert!(answer.contains(line), "{handler}: {line}: {answer}\n{printed}");
        }
        let runtime = if handler == "fpm" { "PHP-FPM as" } else { "mod_php as" };
        let record = std::fs::read_to_string(sandbox.run().join("run.json")).expect("a record");
        assert!(
            record.contains("\"as_today\"") && printed.contains(code_or("as_today", runtime)),
            "{printed}"
        );
        assert!(!printed.contains("8 workers"), "each row has its own number: {printed}");
        assert_eq!(sandbox.left_behind(), [] as [String; 0]);
    }
}
