//! Serves an app with rewrites of its own on every installed per-request runtime, and holds the answers
//! against those of an Apache that reads the app's `.htaccess` for each request.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use stampede_plan::model::{AppChoice, Scalar};
use stampede_stack::{Mode, ProcessStack, Stack as _};

use crate::bench_support::Bench;
use crate::paths_support::ask::Client;

/// Tells which script runs, and with which parameters.
const SCRIPT: &str = "<?php echo json_encode(['file' => __FILE__, 'cwd' => getcwd(), 'server' => $_SERVER, \
    'body' => json_encode([$_GET, $_SERVER['PATH_INFO'] ?? '', $_SERVER['REQUEST_URI'], ini_get('memory_limit'), ini_get('precision')])]);";

/// File → text. A directory for each way of apps to write their addresses.
const FILES: [(&str, &str); 30] = [
    ("named/.htaccess", "<FilesMatch \"^[^.]+$\">\nRequire all denied\n</FilesMatch>\n"),
    ("named/index.php", SCRIPT),
    (
        ".htaccess",
        "# The shop's own.\nOptions -Indexes\nphp_value precision 9\n\
        <IfModule mod_headers.c>\nHeader set X-Shop yes\n</IfModule>\n\
        Redirect 301 /old /new\nRedirectMatch 302 ^/blog/([0-9]{4})/(.+)$ /archive/$1/$2\n\
        <FilesMatch \"\\.(ini|log|tpl)$\">\nRequire all denied\n</FilesMatch>\n\
        <Files secret.txt>\nOrder allow,deny\nDeny from all\n</Files>\n\
        RewriteEngine On\nRewriteRule ^gone$ - [G]\nRewriteRule ^no/(.*)$ - [F]\n\
        RewriteCond %{HTTPS} !=on\nRewriteRule ^checkout https://%{HTTP_HOST}%{REQUEST_URI} [R=301,L]\n\
        RewriteRule ^sitemap\\.xml$ feed.php?of=sitemap [L]\n\
        RewriteRule ^item-([0-9]+)\\.html$ /page.php?item=$1 [NC,L,QSA]\n\
        RewriteCond %{REQUEST_FILENAME} !-f\nRewriteRule ^(.+)\\.html$ $1.php [L]\n",
    ),
    (".user.ini", "memory_limit = 96M\ndisplay_errors = On\n"),
    ("index.php", SCRIPT),
    ("page.php", SCRIPT),
    ("feed.php", SCRIPT),
    ("real.html", "<p>real</p>"),
    ("settings.ini", "a=1"),
    ("secret.txt", "secret"),
    (
        "one/.htaccess",
        "RewriteEngine on\nRewriteCond %{REQUEST_FILENAME} !-f\nRewriteCond %{REQUEST_FILENAME} !-d\n\
        RewriteRule ^(.+)$ index.php?page=$1 [QSA,L]\n",
    ),
    ("one/index.php", SCRIPT),
    ("one/tool.php", SCRIPT),
    ("one/a.css", "a{}"),
    ("one/docs/index.html", "<p>docs</p>"),
    ("one/admin/index.php", SCRIPT),
    (
        "two/.htaccess",
        "<IfModule mod_rewrite.c>\nRewriteEngine on\nRewriteBase /two\n\
        RewriteRule \"(^|/)\\.(?!well-known)\" - [F]\n\
        RewriteCond %{REQUEST_FILENAME} !-f\nRewriteCond %{REQUEST_FILENAME} !-d\n\
        RewriteCond %{REQUEST_URI} !=/favicon.ico\nRewriteRule ^ index.php [L]\n</IfModule>\n",
    ),
    ("two/index.php", SCRIPT),
    (
        "three/.htaccess",
        "RewriteEngine On\nRewriteCond %{REQUEST_FILENAME} !-f\nRewriteCond %{REQUEST_FILENAME} !-d\n\
        RewriteCond %{REQUEST_URI} !.*\\.(ico|gif|jpg|jpeg|png|js|css)\n\
        RewriteRule ^([^?]*) index.php?_route_=$1 [L,QSA]\n",
    ),
    ("three/index.php", SCRIPT),
    (
        "four/.htaccess",
        "RewriteEngine on\nRewriteRule ^_media/(.*) lib/fetch.php?media=$1 [QSA,L]\nRewriteRule ^$ doku.php [L]\n\
        RewriteCond %{REQUEST_FILENAME} -f [OR]\nRewriteCond %{REQUEST_FILENAME} -d\nRewriteRule ^ - [L]\n\
        RewriteRule (.*) doku.php?id=$1 [QSA,L]\n",
    ),
    ("four/doku.php", SCRIPT),
    ("four/lib/fetch.php", SCRIPT),
    ("four/a.css", "a{}"),
    ("five/.htaccess", "Deny from all\n"),
    ("five/index.php", SCRIPT),
    ("five/open/.htaccess", "Require all granted\n"),
    ("five/open/a.txt", "open"),
    (
        "six/.htaccess",
        "RewriteEngine On\nRewriteCond %{REQUEST_FILENAME}.php -f\nRewriteRule ^([^/.]+)$ $1.php\n",
    ),
    ("six/about.php", SCRIPT),
];

const ASKED: [&str; 58] = [
    "/named/",
    "/named/other",
    "/",
    "/?a=b",
    "/page.php?a=1",
    "/page.html",
    "/page.html?a=1",
    "/real.html",
    "/item-12.html",
    "/ITEM-12.html?x=1",
    "/item-x.html",
    "/old",
    "/old/a/b",
    "/old?x=1",
    "/older",
    "/blog/2024/a-title",
    "/blog/20/a",
    "/settings.ini",
    "/missing.ini",
    "/secret.txt",
    "/gone",
    "/no/way",
    "/sitemap.xml",
    "/sitemap.xml?a=b",
    "/missing",
    "/missing/a/b",
    "/one/",
    "/one/about",
    "/one/about?x=1&y=2",
    "/one/a/b/c",
    "/one/about/",
    "/one/a.css",
    "/one/tool.php?x=1",
    "/one/docs/",
    "/one/admin/",
    "/one/admin/users",
    "/one/missing.css",
    "/one/index.php?page=x",
    "/two/",
    "/two/user/1",
    "/two/user/1?q=2",
    "/three/",
    "/three/product?x=1",
    "/three/logo.png",
    "/three/a/b",
    "/four/",
    "/four/start",
    "/four/wiki:syntax?do=edit",
    "/four/_media/a.png",
    "/four/_media/a.png?w=3",
    "/four/a.css",
    "/four/lib/fetch.php?media=x",
    "/five/",
    "/five/index.php",
    "/five/missing",
    "/six/about",
    "/six/about?x=1",
    "/six/other",
];

fn bench() -> (tempfile::TempDir, Bench) {
    let app = tempfile::tempdir().expect("directory");
    for (file, text) in FILES {
        let file = app.path().join("public").join(file);
        std::fs::create_dir_all(file.parent().expect("a parent")).expect("directory");
        std::fs::write(file, text).expect("file");
    }
    let bench = Bench::new(&AppChoice::directory(app.path().into()));
    (app, bench)
}

/// What comes of each path: status, where it leads, and the script with its parameters, or the text.
fn answers(running: &ProcessStack) -> BTreeMap<&'static str, String> {
    let client = Client::new(&running.url());
    let one = |path: &'static str| {
        let seen = client.get(path);
        let value = |name: &str| seen.get(name).cloned().flatten().unwrap_or_default();
        let status = value("status");
        let rest = match status.as_str() {
            "200" => format!("{} {}{}", value("script"), value("body"), value("answer")),
            _ => value("location"),
        };
        (path, format!("{status} {rest}"))
    };
    ASKED.into_iter().map(one).collect()
}

fn settings(how: &str) -> [(&'static str, Scalar); 2] {
    [("workers", Scalar::Int(2)), ("htaccess", Scalar::Text(how.to_owned()))]
}

/// What a runtime does in another way, and why.
fn differs(name: &str, path: &str) -> bool {
    match name {
        // They are told nothing.
        "h2o" | "nginx-unit" => true,
        // It cannot ask whether something is a file, and redirects with one status.
        "lighttpd-fcgi" => {
            ["/blog/2024/a-title", "/gone", "/six/about", "/six/about?x=1"].contains(&path)
        }
        // It keeps the query of the request.
        "uwsgi" => path == "/sitemap.xml?a=b",
        _ => false,
    }
}

#[test]
fn every_runtime_does_what_apache_does_with_an_apps_own_rules() {
    let (_app, bench) = bench();
    let Some(running) = bench.start("apache-modphp", &settings("per-request")) else { return };
    let reference = answers(&running);
    running.stop().expect("stop");
    let mut found = String::new();
    for name in bench.catalogue.runtime_names() {
        let manifest = bench.manifest(name);
        if manifest.mode != Mode::PerRequest {
            continue;
        }
        let settings = settings("once");
        let is_apache = manifest.settings.contains_key("htaccess");
        let Some(running) = bench.start(name, &settings[..1 + usize::from(is_apache)]) else {
            continue;
        };
        let seen = answers(&running);
        running.stop().expect("stop");
        for (path, right) in &reference {
            if seen[path] != *right && !differs(name, path) {
                let _ = writeln!(found, "{name} {path}:\n  {}\n  {right}", seen[path]);
            }
        }
    }
    assert!(found.is_empty(), "\n{found}");
}

/// The probe is a PHP file that the app does not know: it is seen all the same.
#[test]
#[ignore = "long: 18 s"]
fn an_app_that_refuses_other_scripts_can_be_verified() {
    let app = tempfile::tempdir().expect("directory");
    let rules = "<FilesMatch \"\\.php$\">\nRequire all denied\n</FilesMatch>\n\
                 <FilesMatch \"^index\\.php$\">\nRequire all granted\n</FilesMatch>\n";
    for (file, text) in [(".htaccess", rules), ("index.php", SCRIPT), ("config.php", SCRIPT)] {
        std::fs::write(app.path().join(file), text).expect("file");
    }
    let bench = Bench::new(&AppChoice::directory(app.path().into()));
    for name in bench.catalogue.runtime_names() {
        let manifest = bench.manifest(name);
        if manifest.mode != Mode::PerRequest || differs(name, "/config.php") {
            continue;
        }
        let ways: &[&str] = match manifest.settings.contains_key("htaccess") {
            true => &["once", "per-request"],
            false => &[""],
        };
        for how in ways {
            let settings = settings(how);
            let Some(running) = bench.start(name, &settings[..1 + usize::from(!how.is_empty())])
            else {
                continue;
            };
            running.verify(&[]).unwrap_or_else(|error| panic!("{name} {how}: {error}"));
            let seen = Client::new(&running.url()).get("/config.php");
            let status = seen.get("status").cloned().flatten();
            assert_eq!(status.as_deref(), Some("403"), "{name} {how}");
            running.stop().expect("stop");
        }
    }
}
