//! The table of the keys of runtimes: those of the catalogue, servers that already run, compose projects.

use super::super::compose::{CODE, LIMITS, VOLUMES};
use super::super::watch::PID_MAX;
use super::forms::{
    BUILD_TARGET, FILE_OR_FILES, IMAGES, LINES, PHP_VERSIONS, PHP_VERSIONS_OR_PROGRAM, PRESET,
    SWEPT, SWEPT_VALUES, TEXTS, URL, VALUE, VALUES, WATCHED,
};
use super::table::SETTINGS;
use super::{Entries, Group, Key, Kind, Object};

/// An item of `runtimes`.
pub(super) static ENTRY: Object = Object {
    name: "runtime",
    place: "an item of `runtimes`",
    about: "A runtime's name, or a map of one name to its settings. `stampede runtimes` lists the names.",
    short: Some(&Kind::Text),
    groups: &[&Group {
        title: None,
        keys: &[Key::new("external", &Kind::Object(&EXTERNAL), "A server that runs already.")],
    }],
    rest: Some(Key::new(
        "a name",
        &BODY,
        "A runtime of the catalogue with settings of its own, or with `use` a variant under a name of its own.",
    )),
    entries: Entries::One,
    below: None,
};

/// The value of a runtime's name. An external runtime may have another name: its map then has
/// `use: external`.
static BODY: Kind = Kind::Any(&[
    &Kind::Null,
    &Kind::Object(&RUNTIME),
    &Kind::Object(&EXTERNAL),
    &Kind::Object(&COMPOSE),
]);

pub static RUNTIME: Object = Object {
    name: "runtime_settings",
    place: "a runtime",
    about: "What differs from the plan's values for all runtimes.",
    short: None,
    groups: &[&OF_RUNTIME, &SETTINGS],
    rest: Some(Key::new(
        "any other",
        &Kind::Scalar,
        "A setting that this runtime has, or a program that it needs (`php-fpm: /opt/php/sbin/php-fpm`). Its README in [runtimes](../runtimes) lists them.",
    )),
    entries: Entries::Any,
    below: Some("in a runtime's map:\n`runtimes: [{nginx-fpm: {KEY}}]`"),
};

/// The keys of a runtime that are no settings.
pub static OF_RUNTIME: Group = Group {
    title: None,
    keys: &[
        Key::new("use", &Kind::Text, "The runtime that this is a variant of.")
            .otherwise("the name itself")
            .like("nginx-fpm"),
        Key::new("php", &PHP_VERSIONS_OR_PROGRAM, "The version of PHP, which has to be installed or come from `images`. A list makes a row for each version. Or, where the runtime needs a program `php`, its path.")
            .otherwise("that of the plan")
            .like("[8.2, 8.4]"),
        Key::new("images", &IMAGES, "The [container images](containers.md#official-images) that its programs come from: `official`, or an image for each role. `{php}` is the version of PHP.")
            .otherwise("that of the plan")
            .like("{web: \"nginx:1.29\", php: \"php:8.4-fpm\"}"),
        Key::new("php_ini", &Kind::Object(&PHP_INI), "php.ini values. They win over the plan's."),
        Key::new("env", &VALUES, "Environment variables of the app. They win over the plan's."),
        Key::new(
            "append",
            &LINES,
            "Raw lines for files that the runtime renders, by the file's name.",
        )
        .like("{nginx.conf: \"…\"}"),
        Key::new("sweep", &Kind::Object(&SWEEP), "Makes a row for each combination of values.")
            .like("{workers: [8, 16]}"),
    ],
};

pub static EXTERNAL: Object = Object {
    name: "external",
    place: "an external runtime",
    about: "A server that [runs already](measure-what-already-runs.md). stampede changes nothing there.",
    short: None,
    groups: &[&Group {
        title: None,
        keys: &[
            Key::new("use", &Kind::Text, "`external`, if the runtime has another name."),
            Key::new(
                "url",
                &URL,
                "Where it listens: `http://127.0.0.1:8080` or `unix:/run/shop.sock`.",
            )
            .required(),
            Key::new(
                "watch",
                &Kind::Object(&WATCH),
                "The processes whose CPU time and memory are measured.",
            ),
            Key::new(
                "resolve",
                &TEXTS,
                "Addresses of a name, instead of looking it up: `HOST:PORT:ADDRESS`, as curl has it.",
            ),
            Key::new(
                "connect_to",
                &TEXTS,
                "Connects elsewhere: `HOST:PORT:HOST:PORT`, as curl has it. `Host` stays that of `url`.",
            ),
        ],
    }],
    rest: None,
    entries: Entries::Any,
    below: Some(
        "in the map of an external runtime:\n`runtimes: [external: {url: \"http://127.0.0.1:8080\"}]`",
    ),
};

pub static COMPOSE: Object = Object {
    name: "compose",
    place: "a compose project",
    about: "Services of a [compose project](containers.md), in containers that stampede starts for each trial.",
    short: None,
    groups: &[&Group {
        title: None,
        keys: &[
            Key::new("compose", &FILE_OR_FILES, "The compose file, or several: later ones override earlier ones. The project's directory is that of the first.")
                .required()
                .like("docker-compose.yml"),
            Key::new("service", &Kind::Text, "The service that requests go to.")
                .otherwise("the only one that publishes a port")
                .like("web"),
            Key::new("port", &Kind::Whole { least: 1, most: 65_535 }, "The port inside the service's container.")
                .otherwise("the only one that it publishes")
                .like("80"),
            Key::new("beside", &TEXTS, "Services that run beside the budget, such as a database.").like("[db]"),
            Key::new("before_trial", &VALUES, "Services with a command that runs there before each trial, in this order. One that fails is run again until the project should be ready.").like("{php: \"php artisan migrate --seed\"}"),
            Key::new("volumes", &Kind::Words(&VOLUMES), "What is in the project's volumes at the start of each trial. `copy`: a copy of what they hold now. `empty`: what the images bring. `keep`: the project's own volumes, to which the trials write.")
                .or("copy"),
            Key::new("limits", &Kind::Words(&LIMITS), "What becomes of the limits that the project's files set for single services (`cpus`, `mem_limit`, `deploy.resources.limits`). `keep`: they stay, within the budget. `none`: only the budget limits the services.")
                .or("keep"),
            Key::new("build_args", &VALUES, "Arguments of every build of the project.").like("{PHP_VERSION: \"8.4\"}"),
            Key::new("build_target", &BUILD_TARGET, "The stage of its Dockerfile that a service is built as: one name for all services that have it, or `{service: stage}`.")
                .otherwise("as the project says")
                .like("prod"),
            Key::new("code", &Kind::Words(&CODE), "The place of code that the project mounts. `mounted`: a copy of the directory is mounted. `image`: the images have it, as in production; one that lacks it gets a copy.")
                .or("mounted"),
            Key::new("php_ini", &Kind::Object(&PHP_INI), "php.ini values. They win over the plan's and over those of the image."),
            Key::new("php", &PHP_VERSIONS, "The version of PHP that the project is asked for, by `php_arg`. A list makes a row for each version.")
                .otherwise("the one that the project has")
                .like("[8.2, 8.4]"),
            Key::new("php_arg", &Kind::Text, "The build argument that has the version. A variable of this name in the compose files has it too: `image: php:${PHP_VERSION}-fpm`.")
                .or("PHP_VERSION"),
            Key::new("env", &VALUES, "Environment variables of every service within the budget."),
        ],
    }],
    rest: None,
    entries: Entries::Any,
    below: Some(
        "in the map of a compose project:\n`runtimes: [{fpm: {compose: docker-compose.yml}}]`",
    ),
};

pub static WATCH: Object = Object {
    name: "watch",
    place: "`watch`",
    about: "One of these, or the same as one text: `container:shop`.",
    short: Some(&WATCHED),
    groups: &[&Group {
        title: None,
        keys: &[
            Key::new("container", &Kind::Text, "A container by its name or id."),
            Key::new(
                "project",
                &Kind::Text,
                "All containers of a compose project that runs, by the project's name.",
            ),
            Key::new("unit", &Kind::Text, "A unit of systemd, such as `php8.4-fpm.service`."),
            Key::new(
                "ssh",
                &Kind::Text,
                "Another machine as a whole, as `ssh` takes it: `shop1` or `deploy@shop1`.",
            ),
            Key::new(
                "pid",
                &Kind::Whole { least: 1, most: PID_MAX as u64 },
                "A process and those that it started.",
            ),
        ],
    }],
    rest: None,
    entries: Entries::One,
    below: Some(
        "in `watch` of an external runtime:\n`runtimes: [external: {url: \"http://127.0.0.1:8080\", watch: {container: shop}}]`",
    ),
};

pub static PHP_INI: Object = Object {
    name: "php_ini",
    place: "`php_ini`",
    about: "A preset, or a map of php.ini values.",
    short: Some(&PRESET),
    groups: &[&Group {
        title: None,
        keys: &[Key::new("use", &PRESET, "A preset to start from. The other values win.")],
    }],
    rest: Some(Key::new(
        "any other",
        &VALUE,
        "A php.ini value by its name, such as `opcache.memory_consumption`.",
    )),
    entries: Entries::Any,
    below: None,
};

pub static SWEEP: Object = Object {
    name: "sweep",
    place: "`sweep`",
    about: "Settings with lists of values.",
    short: None,
    groups: &[&Group {
        title: None,
        keys: &[Key::new("php_ini", &SWEPT_VALUES, "php.ini values with lists of values.")],
    }],
    rest: Some(Key::new("any other", &SWEPT, "A setting by its name.")),
    entries: Entries::Any,
    below: None,
};
