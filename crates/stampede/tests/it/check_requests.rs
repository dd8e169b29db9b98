//! Tests `stampede check` end to end: the sources of its requests, and the scratch database that
//! replaces the app's own.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use serde_json::Value;

use crate::common::{Sandbox, check_app, finish, skipped, stderr, stdout, workers};
use crate::words::code_or;

const LIMIT: Duration = Duration::from_secs(300);

/// A worker runtime that is installed here: one is enough for these tests.
fn worker() -> Option<&'static str> {
    workers().into_iter().next()
}

/// Runs a check with one pass and without the search for growth.
fn check(
    sandbox: &Sandbox,
    directory: &Path,
    worker: &str,
    more: &[&str],
) -> (String, Option<i32>) {
    let directory = directory.display().to_string();
    let args = ["check", "--app", &directory, "--runtime", worker, "--passes", "in-order"];
    let short = ["--growth", "0", "--seed", "7", "--out", "out"];
    let output = finish(sandbox.stampede(&[&args[..], &short[..], more].concat()), LIMIT);
    assert_eq!(sandbox.left_behind(), Vec::<String>::new());
    (stdout(&output) + &stderr(&output), output.status.code())
}

fn tried(sandbox: &Sandbox) -> Value {
    let text = std::fs::read_to_string(sandbox.path().join("out/check.json")).expect("a report");
    serde_json::from_str::<Value>(&text).expect("JSON")["tried"].clone()
}

#[test]
fn paths_of_the_router_are_requested_too() {
    let frameworks = [
        ("clean-symfony", "/usr/share/php/Symfony/Bundle/FrameworkBundle/autoload.php"),
        ("clean-laravel", "/usr/share/php/Illuminate/autoload.php"),
    ];
    let Some(worker) = worker().filter(|_| !skipped(&["nginx", "php-fpm", "php"])) else { return };
    for (name, file) in frameworks {
        if !Path::new(file).is_file() {
            println!("SKIPPED: {name}: there is no {file}");
            continue;
        }
        let sandbox = Sandbox::new();
        let (text, code) = check(&sandbox, &check_app(name, &sandbox), worker, &[]);
        assert_eq!(code, Some(0), "{text}");
        assert!(text.contains("the app's router lists 6 paths that can be requested"), "{text}");
        // Five pages and a form link to each other. Only the list has the seventh.
        assert_eq!(tried(&sandbox)["requests"], 7, "{text}");
    }
}

/// A handler that adds a row and reports the number of rows, in any database that it is given.
const COUNTS: &str = r#"<?php
return static function (array $server): array {
    static $db = null;
    $db ??= new PDO(getenv('DATABASE_DSN'), getenv('DATABASE_USER') ?: null, null, [PDO::ATTR_ERRMODE => PDO::ERRMODE_EXCEPTION]);
    if ($server['REQUEST_URI'] === '/add') {
        $db->exec("INSERT INTO teas (name) VALUES ('Assam')");
    }
    $count = $db->query('SELECT COUNT(*) FROM teas')->fetchColumn();
    return ['status' => 200, 'headers' => ['Content-Type' => 'text/html'], 'body' => "<p>$count teas <a href='/add'>add</a>\n"];
};
"#;

const DUMP: &str = "CREATE TABLE teas (name varchar(40));\nINSERT INTO teas (name) VALUES ('Darjeeling'), ('Keemun');\n";

/// An app that counts rows; the URL of its own database is `url`.
fn counting(sandbox: &Sandbox, url: &str) -> PathBuf {
    sandbox.write("shop/handler.php", COUNTS);
    sandbox.write(
        "shop/app.yaml",
        "title: counts\nkind: callable\ndocroot: public\nextensions: [pdo, mysqlnd, pdo_mysql, pdo_pgsql, pdo_sqlite]\nexpect: { status: 200 }\n",
    );
    sandbox.write(
        "shop/public/index.php",
        "<?php\n$answer = (require __DIR__ . '/../handler.php')($_SERVER);\nhttp_response_code($answer['status']);\nheader('Content-Type: text/html');\necho $answer['body'];\n",
    );
    sandbox.write("shop/.env", &format!("DATABASE_URL={url}\n"));
    sandbox.write("dump.sql", DUMP);
    sandbox.path().join("shop")
}

#[test]
#[ignore = "long: 19 s"]
fn a_temporary_database_replaces_the_apps_own() {
    let Some(worker) = worker().filter(|_| !skipped(&["nginx", "php-fpm", "php"])) else { return };
    let servers = [
        ("mysql://joe:s3cr3t@192.0.2.1:3306/shop", "mariadb", "mariadbd"),
        ("postgresql://joe:s3cr3t@192.0.2.1/shop", "postgresql", "psql"),
    ];
    for (url, kind, program) in servers {
        if skipped(&[program]) {
            continue;
        }
        let sandbox = Sandbox::new();
        let directory = counting(&sandbox, url);
        let (text, code) = check(&sandbox, &directory, worker, &["--database", "dump.sql"]);
        assert_eq!(code, Some(0), "{text}");
        let expected = format!("but a temporary {kind} database, filled with `");
        assert!(text.contains(&expected) && !text.contains("s3cr3t"), "{text}");
        assert_eq!(tried(&sandbox)["requests"], 2, "{text}");
    }
}

#[test]
fn a_file_of_sqlite_is_copied_and_not_written_to() {
    let Some(worker) = worker().filter(|_| !skipped(&["nginx", "php-fpm", "php", "sqlite3"]))
    else {
        return;
    };
    let sandbox = Sandbox::new();
    let file = sandbox.path().join("shop.sqlite");
    let directory = counting(&sandbox, &format!("sqlite:///{}", file.display()));
    let made = Command::new("sqlite3").arg(&file).arg(DUMP).status().expect("sqlite3");
    assert!(made.success());
    let before = std::fs::read(&file).expect("a database");
    let (text, code) = check(&sandbox, &directory, worker, &[]);
    assert_eq!(code, Some(0), "{text}");
    assert!(text.contains("but a temporary sqlite database, filled with a copy of it"), "{text}");
    assert_eq!(std::fs::read(&file).expect("a database"), before, "it was not written to");
}

#[test]
#[ignore = "long: 10 s"]
fn laravels_migrations_fill_a_temporary_database() {
    let file = Path::new("/usr/share/php/Illuminate/autoload.php");
    let programs = ["nginx", "php-fpm", "php", "mariadbd"];
    let Some(worker) = worker().filter(|_| file.is_file() && !skipped(&programs)) else { return };
    let sandbox = Sandbox::new();
    let directory = sandbox.path().join("shop");
    std::fs::rename(check_app("clean-laravel", &sandbox), &directory).expect("a name of its own");
    sandbox.write(
        "shop/.env",
        "DB_CONNECTION=mysql\nDB_HOST=192.0.2.1\nDB_DATABASE=shop\nDB_USERNAME=joe\nDB_PASSWORD=s3cr3t\n",
    );
    sandbox.write("shop/config/database.php", LARAVELS_DATABASE);
    sandbox.write("shop/database/migrations/2024_01_01_000000_teas.php", MIGRATION);
    let manifest = std::fs::read_to_string(directory.join("app.yaml")).expect("its manifest");
    let manifest = manifest.replace("extensions: [", "extensions: [mysqlnd, pdo_mysql, ");
    sandbox.write("shop/app.yaml", &manifest);
    let route = "\nRoute::get('/teas', static function () {\n    Illuminate\\Support\\Facades\\DB::table('teas')->insert(['name' => 'Assam']);\n    return response((string) Illuminate\\Support\\Facades\\DB::table('teas')->count());\n});\n";
    let routes = std::fs::read_to_string(directory.join("routes/web.php")).expect("its routes");
    sandbox.write("shop/routes/web.php", &(routes + route));
    let (text, code) = check(&sandbox, &directory, worker, &["--users", "1"]);
    assert_eq!(code, Some(0), "{text}");
    assert!(text.contains("filled by `artisan migrate --force --no-interaction`"), "{text}");
    assert!(text.contains("the app's router lists 7 paths that can be requested"), "{text}");
    assert!(!text.contains("s3cr3t"), "{text}");
}

const LARAVELS_DATABASE: &str = "<?php
return [
    'default' => env('DB_CONNECTION', 'mysql'),
    'connections' => ['mysql' => [
        'driver' => 'mysql', 'host' => env('DB_HOST'), 'port' => env('DB_PORT'), 'unix_socket' => env('DB_SOCKET', ''),
        'database' => env('DB_DATABASE'), 'username' => env('DB_USERNAME'), 'password' => env('DB_PASSWORD'),
        'charset' => 'utf8mb4', 'collation' => 'utf8mb4_unicode_ci', 'prefix' => '', 'strict' => true,
    ]],
    'migrations' => 'migrations',
];
";

const MIGRATION: &str = "<?php
use Illuminate\\Database\\Migrations\\Migration;
use Illuminate\\Database\\Schema\\Blueprint;
use Illuminate\\Support\\Facades\\Schema;
return new class extends Migration {
    public function up()
    {
        Schema::create('teas', static function (Blueprint $table) { $table->id(); $table->string('name'); });
    }
};
";

#[test]
fn what_no_database_can_stand_in_for_is_refused_in_clear_words() {
    let Some(worker) = worker().filter(|_| !skipped(&["nginx", "php-fpm", "php"])) else { return };
    let refused = |url: &str, more: &[&str]| {
        let sandbox = Sandbox::new();
        let directory = counting(&sandbox, url);
        let (text, code) = check(&sandbox, &directory, worker, more);
        assert_eq!(code, Some(2), "{text}");
        assert!(!sandbox.path().join("out").exists(), "nothing was checked");
        text
    };
    let unknown = refused("mysql://joe:s3cr3t@192.0.2.1/shop", &[]);
    let strange = refused("sqlsrv://joe:s3cr3t@192.0.2.1/shop", &["--database", "dump.sql"]);
    let missing = refused("mysql://joe:s3cr3t@192.0.2.1/shop", &["--database", "none.sql"]);
    let unnamed = refused("", &["--database", "dump.sql"]);
    assert_words!([unknown, strange, missing, unnamed].join("\n"));
}

#[test]
fn what_leaves_nothing_to_check_is_refused_in_clear_words() {
    let Some(worker) = worker().filter(|_| !skipped(&["nginx", "php-fpm", "php"])) else { return };
    let sandbox = Sandbox::new();
    sandbox.write("urls", "{\"method\": \"POST\", \"path\": \"/\"}\n");
    let app = ["check", "--app", "hello", "--runtime", worker, "--seed", "7"];
    let refused = |more: &[&str]| {
        let output = finish(sandbox.stampede(&[&app[..], more].concat()), LIMIT);
        assert_eq!(output.status.code(), Some(2), "{}", stdout(&output));
        stderr(&output)
    };
    let all = [
        refused(&["--passes", "backwards"]),
        refused(&["--worker-memory", "much"]),
        refused(&["--env", "DEBUG"]),
        refused(&["--passes", "overlapping", "--limit", "1"]),
        refused(&["--traffic", "urls"]),
    ];
    assert_eq!(sandbox.left_behind(), Vec::<String>::new());
    assert!(!sandbox.path().join("stampede-results").exists(), "nothing was checked");
    assert_words!(all.join("\n"));
}

/// A handler with the given answers: a PHP array by path.
fn answering(sandbox: &Sandbox, answers: &str) -> PathBuf {
    sandbox.write("app/app.yaml", "title: it\nkind: callable\ndocroot: public\nindex: index.php\n");
    let handler = format!(
        "<?php return static function (array $server): array {{
            $answers = {answers};
            [$status, $headers, $body] = $answers[$server['REQUEST_URI']] ?? $answers['else'];
            return ['status' => $status, 'headers' => $headers, 'body' => $body];
        }};"
    );
    sandbox.write("app/handler.php", &handler);
    let index = "<?php $answer = (require __DIR__ . '/../handler.php')($_SERVER);
        http_response_code($answer['status']);
        foreach ($answer['headers'] as $name => $value) header(\"$name: $value\");
        echo $answer['body'];";
    sandbox.write("app/public/index.php", index);
    sandbox.path().join("app")
}

#[test]
fn an_app_that_fails_under_the_reference_is_reported_with_its_errors() {
    let Some(worker) = worker().filter(|_| !skipped(&["nginx", "php-fpm", "php"])) else { return };
    let sandbox = Sandbox::new();
    let directory = answering(&sandbox, "['else' => [500, [], '<title>No table orders</title>']]");
    let (text, code) = check(&sandbox, &directory, worker, &[]);
    assert_eq!(code, Some(2), "{text}");
    let error = "the app already fails under nginx-fpm, so there is nothing to compare: GET /: answered \
                 with 500 by nginx-fpm: No table orders";
    assert!(text.contains(code_or("error: fails_already", error)), "{text}");
    let hint = "hint: `stampede up nginx-fpm --app DIR` starts it alone";
    assert!(text.contains(code_or("hint: fails_already", hint)), "{text}");
    assert!(!sandbox.path().join("out").exists(), "nothing was compared");
}

#[test]
fn an_app_that_wants_a_login_is_told_how_to_give_one() {
    let Some(worker) = worker().filter(|_| !skipped(&["nginx", "php-fpm", "php"])) else { return };
    let sandbox = Sandbox::new();
    let html = "['Content-Type' => 'text/html']";
    let directory = answering(
        &sandbox,
        &format!(
            "['/' => [200, {html}, '<a href=/a>a</a><a href=/b>b</a><a href=/c>c</a>'],
            '/login' => [200, {html}, '<form method=post><input type=password name=p></form>'],
            'else' => [302, ['Location' => '/login'], '']]"
        ),
    );
    let (text, code) = check(&sandbox, &directory, worker, &[]);
    assert_eq!(code, Some(0), "{text}");
    assert!(
        text.contains("3 of 5 requests lead to a login: `--login PATH --login-field NAME=VALUE`"),
        "{text}"
    );
}

#[test]
fn a_dump_that_cannot_be_loaded_is_reported_with_the_servers_message() {
    let Some(worker) = worker().filter(|_| !skipped(&["nginx", "php-fpm", "php", "psql"])) else {
        return;
    };
    let sandbox = Sandbox::new();
    let directory = counting(&sandbox, "postgresql://joe:s3cr3t@192.0.2.1/shop");
    sandbox.write("wrong.sql", "CREATE TABLE teas (name sometype);\n");
    let (text, code) = check(&sandbox, &directory, worker, &["--database", "wrong.sql"]);
    assert_eq!(code, Some(2), "{text}");
    let words = [
        code_or("error: unfilled", "wrong.sql` ended with exit code 3"),
        code_or("error: unfilled", "type \"sometype\" does not exist"),
        code_or("hint: unfilled", "hint: the check uses a temporary database"),
    ];
    assert!(words.iter().all(|word| text.contains(word)), "{text}");
}
