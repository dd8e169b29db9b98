use std::collections::BTreeMap;
use std::process::Command;

use super::*;
use crate::layers::tests::place;
use crate::project::published_ports;

/// Files of a project: the path of each with its text.
type Files = [(&'static str, &'static str)];

fn rendered(place: &Path, names: &[&str]) -> Result<Map<String, Value>, ComposeError> {
    let files: Vec<PathBuf> = names.iter().map(|name| place.join(name)).collect();
    let of_file: BTreeMap<String, String> =
        variables_of_file(&place.join(".env")).into_iter().collect();
    let look = |name: &str| std::env::var(name).ok().or_else(|| of_file.get(name).cloned());
    document(&files, place, &look)
}

/// What is used of a document, in one form for each tool.
fn facts(document: &Map<String, Value>) -> Value {
    let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let texts = |value: &Value| -> BTreeMap<String, String> {
        variables(value).iter().map(|(name, value)| (name.clone(), text(value))).collect()
    };
    let keys = |value: &Value| by_name(value).keys().cloned().collect::<BTreeSet<_>>();
    let list = |value: &Value| match value {
        Value::Array(list) => list.clone(),
        Value::Null => Vec::new(),
        one => vec![one.clone()],
    };
    let service = |service: &Value| {
        let build = &service["build"];
        let mounts = list(&service["volumes"]).iter().filter_map(Mount::of).collect::<Vec<_>>();
        let mounts = mounts.iter().map(|one| (&one.source, &one.target, one.is_read_only));
        let waits = by_name(&service["depends_on"]).into_iter().map(|(name, how)| {
            let condition = how["condition"].as_str().unwrap_or("service_started");
            (name, condition.to_owned())
        });
        json!({
            "image": service["image"], "command": service["command"], "entrypoint": service["entrypoint"],
            "context": build["context"], "dockerfile": build["dockerfile"], "target": build["target"],
            "args": texts(&build["args"]), "environment": texts(&service["environment"]),
            "ports": published_ports(service), "mounts": mounts.collect::<BTreeSet<_>>(),
            "waits": waits.collect::<BTreeMap<_, _>>(), "networks": keys(&service["networks"]),
            "aliases": service["networks"]["default"]["aliases"], "health": service["healthcheck"]["test"],
            "limits": texts(&service["deploy"]["resources"]["limits"]), "memory": service["mem_limit"],
            "dns": list(&service["dns"]), "tmpfs": list(&service["tmpfs"]), "user": service["user"],
            "hosts": texts(&service["extra_hosts"]), "privileged": service["privileged"],
            "profiles": service["profiles"], "container_name": service["container_name"],
            "secrets": list(&service["secrets"]).iter().map(|one| one.get("source").unwrap_or(one).clone()).collect::<Vec<_>>(),
        })
    };
    let services = document["services"].as_object().expect("services").iter();
    let services: BTreeMap<&String, Value> =
        services.map(|(name, it)| (name, service(it))).collect();
    let top = |kind: &str| keys(document.get(kind).unwrap_or(&Value::Null));
    json!({"services": services, "networks": top("networks"), "volumes": top("volumes"), "secrets": top("secrets")})
}

/// Projects such as people have.
const PROJECTS: [(&[&str], &Files); 6] = [
    (
        &["docker-compose.yml"],
        &[
            (".env", "PHP_VERSION=8.3\nHTTP_PORT=8080\nEMPTY=\nHASH='a$b'\n"),
            ("app.env", "APP_ENV=dev\nAPP_KEY=base64:x=\nWITH_SPACE=\"a b\"\n"),
            (
                "docker-compose.yml",
                r#"
version: "3.8"
x-common: &common
  restart: unless-stopped
  environment: &environment
    TZ: Europe/Berlin
    DEBUG: "false"
services:
  web:
    image: nginx:${NGINX_TAG:-1.29}-alpine
    ports: ["${HTTP_PORT}:80", "127.0.0.1:8443:443/tcp", "9000-9001:9000-9001", 3000]
    volumes:
      - ./public:/var/www/html:ro
      - ../outside/conf.d:/etc/nginx/conf.d
      - ~/certs:/certs:ro,z
      - logs:/var/log/nginx
      - /anonymous
    depends_on: [php, db]
    networks: {default: {aliases: [shop.test]}, front: null}
  php:
    <<: *common
    build:
      context: .
      dockerfile: docker/php/Dockerfile
      args: [PHP_VERSION, "UID=${UID_OF:-1000}"]
      target: dev
    environment:
      <<: *environment
      APP_DEBUG: 1
      RATIO: 0.5
      FLAG: "true"
      SECRET: "a$$b${EMPTY}c"
      UNSET: "${NOT_SET_ANYWHERE}"
      OTHER: ${EMPTY:-other}/${EMPTY-none}
      HASH:
    env_file: [app.env]
    command: php-fpm -F -d "display_errors=1"
    extra_hosts: ["host.docker.internal:127.0.0.1"]
    tmpfs: /tmp
    dns: 1.1.1.1
  db:
    image: "mariadb:11"
    environment: ["MYSQL_ROOT_PASSWORD=root", "MYSQL_DATABASE=${DB:-shop}", "HASH"]
    volumes: [{type: volume, source: data, target: /var/lib/mysql}, {type: bind, source: ./init.sql, target: /docker-entrypoint-initdb.d/init.sql, read_only: true}]
    healthcheck: {test: [CMD, mysqladmin, ping, "-p$$MYSQL_ROOT_PASSWORD"], interval: 5s, retries: 10}
    deploy: {resources: {limits: {cpus: "0.5", memory: 512M}}}
    user: "999:999"
volumes: {data: null, logs: {driver: local}}
networks: {front: {}}
"#,
            ),
        ],
    ),
    (
        &["docker-compose.yml", "docker-compose.override.yml"],
        &[
            ("web/Dockerfile", "FROM nginx"),
            (
                "docker-compose.yml",
                r#"
version: "3.8"
services:
  web:
    build: ./web
    command: ["nginx", "-g", "daemon off;"]
    ports: ["80:80"]
    volumes: ["./src:/app:ro", "cache:/cache"]
    environment: [A=1, B=2]
    dns: [1.1.1.1]
    entrypoint: /entry
  php: {image: "php:8.3-fpm", networks: [back], healthcheck: {test: [CMD, "true"], interval: 3s}}
volumes: {cache: }
networks: {back: }
"#,
            ),
            (
                "docker-compose.override.yml",
                r#"
version: "3.8"
services:
  web:
    build: {context: ./web, args: {X: "1"}}
    command: ["nginx"]
    ports: ["80:80", "443:443"]
    volumes: ["./other:/app"]
    environment: {B: "3", C: "4"}
    dns: [8.8.8.8]
    depends_on: [php]
    entrypoint: [/other, x]
  php: {image: "php:8.4-fpm", healthcheck: {test: ["CMD-SHELL", "exit 0"]}}
"#,
            ),
        ],
    ),
    (
        &["deploy/compose.yml", "deploy/prod.yml"],
        &[
            (
                "deploy/compose.yml",
                "version: '2.4'\nservices:\n  web:\n    extends: {file: ../common/base.yml, service: web}\n    mem_limit: 256m\n    depends_on: {php: {condition: service_healthy}}\n  php:\n    image: php\n    healthcheck: {test: 'php -v'}\n",
            ),
            (
                "common/base.yml",
                "version: '2.4'\nservices:\n  web:\n    image: nginx\n    ports: ['8080:80']\n    volumes: ['./conf:/etc/nginx:ro']\n    environment: {FROM_BASE: 'yes', BOTH: base}\n    env_file: base.env\n",
            ),
            ("common/base.env", "IN_BASE=1\n"),
            (
                "deploy/prod.yml",
                "version: '2.4'\nservices:\n  web: {environment: {BOTH: prod}, privileged: true}\n",
            ),
        ],
    ),
    (
        &["docker-compose.yml"],
        &[
            ("key.txt", "x"),
            (
                "docker-compose.yml",
                "version: '3.8'\nservices:\n  app:\n    image: dunglas/frankenphp\n    secrets: [key, {source: other, target: /x}]\n    ports: [{target: 80, published: 8080, protocol: tcp}, {target: 443, published: 443, protocol: udp}]\n    container_name: shop_app\n  mail:\n    image: axllent/mailpit\n    profiles: [dev]\nsecrets: {key: {file: ./key.txt}, other: {file: ./key.txt}}\n",
            ),
        ],
    ),
    (
        &["docker-compose.yml"],
        &[(
            "docker-compose.yml",
            "services:\n  web: {image: 'caddy:2', ports: ['80:80', '443:443', '443:443/udp'], volumes: ['caddy:/data', './site:/srv']}\nvolumes: {caddy: {}}\n",
        )],
    ),
    (
        &["docker-compose.yml"],
        &[
            ("docker/8.4/Dockerfile", "FROM php"),
            (
                "docker-compose.yml",
                "version: '3'\nservices:\n  app:\n    build: {context: '${CONTEXT_OF:-./docker}/8.4', args: {WWWGROUP: '${WWWGROUP_OF:-1000}'}}\n    image: 'sail-8.4/app'\n    ports: ['${APP_PORT:-80}:80', '${VITE_PORT:-5173}:${VITE_PORT:-5173}']\n    environment: {LARAVEL_SAIL: 1, XDEBUG_CONFIG: '${SAIL_XDEBUG_CONFIG:-client_host=host.docker.internal}'}\n    volumes: ['.:/var/www/html']\n    networks: [sail]\n    depends_on: [mysql]\n  mysql:\n    image: 'mysql/mysql-server:8.0'\n    environment: {MYSQL_ROOT_HOST: '%', MYSQL_ALLOW_EMPTY_PASSWORD: 1}\n    volumes: ['sail-mysql:/var/lib/mysql', './vendor/create.sh:/docker-entrypoint-initdb.d/10-create.sh']\n    networks: [sail]\nnetworks: {sail: {driver: bridge}}\nvolumes: {sail-mysql: {driver: local}}\n",
            ),
        ],
    ),
];

/// The result is the same as that of docker-compose for each project.
#[test]
fn a_project_is_rendered_as_docker_compose_does() {
    if Command::new("docker-compose").arg("version").output().is_err() {
        println!("SKIPPED: docker-compose is not installed");
        return;
    }
    for (names, files) in PROJECTS {
        let place = place(files);
        let mut command = Command::new("docker-compose");
        let directory = place.path().join(names[0]);
        let directory = directory.parent().expect("a directory");
        for name in names {
            command.arg("-f").arg(place.path().join(name));
        }
        command.arg("--project-directory").arg(directory).arg("config");
        let output = command.output().expect("it runs");
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{names:?}: {said}");
        let text = String::from_utf8_lossy(&output.stdout);
        let expected: Value = serde_saphyr::from_str(&text).expect("a document");
        let expected = facts(expected.as_object().expect("a map"));
        let files: Vec<PathBuf> = names.iter().map(|name| place.path().join(name)).collect();
        let of_file: BTreeMap<String, String> =
            variables_of_file(&directory.join(".env")).into_iter().collect();
        let look = |name: &str| std::env::var(name).ok().or_else(|| of_file.get(name).cloned());
        let found = facts(&document(&files, directory, &look).expect("a project"));
        for (name, service) in expected["services"].as_object().expect("services") {
            for (fact, value) in service.as_object().expect("facts") {
                assert_eq!(
                    &found["services"][name][fact], value,
                    "{names:?} {name} {fact}\n{text}"
                );
            }
        }
        assert_eq!(found, expected, "{text}");
    }
}

#[test]
fn what_is_wrong_with_a_project_is_said_with_its_place() {
    let error = |files: &Files| {
        let place = place(files);
        let error = rendered(place.path(), &["compose.yml"]).expect_err("an error");
        error.to_string().replace(&place.path().display().to_string(), "")
    };
    let of = |text: &'static str| error(&[("compose.yml", text)]);
    let syntax = of("services:\n  web:\n    image: a\n   ports: [");
    assert!(syntax.starts_with("compose file `/compose.yml`: line 4: "), "{syntax}");
    let tag = of("services:\n  web:\n    image: a\n    ports: !reset []");
    assert!(tag.starts_with("compose file `/compose.yml`: line 4: "), "{tag}");
    assert_eq!(of("- a"), "compose file `/compose.yml`: it is no map");
    assert_eq!(of("version: '3'"), "compose file `/compose.yml`: it has no services");
    let included = "include: [none.yml]\nservices: {web: {image: a}}";
    assert_eq!(of(included), "compose file `/none.yml`: it cannot be read");
    let extended = "services: {web: {extends: {file: base.yml, service: web}}}";
    let broken = error(&[("compose.yml", extended), ("base.yml", "a: [")]);
    assert!(broken.starts_with("compose file `/base.yml`: line "), "{broken}");
    assert_eq!(
        of("services: {web: {image: 'a:${NO_SUCH_TAG:?choose a tag}'}}"),
        "the compose files ask for the variable `NO_SUCH_TAG`: choose a tag"
    );
    assert_eq!(
        of("services: {web: {image: a, env_file: [none.env]}}"),
        "service `web` has the env file `/none.env`, which does not exist"
    );
    assert_eq!(
        of("services: {web: {image: a, depends_on: [db]}}"),
        "service `web` uses the service `db`, which the project does not have"
    );
    assert_eq!(
        of("services: {web: {image: a, volumes: ['data:/data']}}"),
        "service `web` uses the volume `data`, which the project does not have"
    );
    assert_eq!(
        of("services: {web: {image: a, volumes: ['/a:b:/c:ro']}}"),
        "service `web` has the mount `/a:b:/c:ro`, which is not `SOURCE:TARGET[:MODE]`"
    );
    for (kind, text) in [
        ("config", "services: {web: {image: a, configs: [x]}}"),
        ("secret", "services: {web: {image: a, secrets: [{source: x}]}}"),
        ("secret", "services: {web: {build: {context: ., secrets: [x]}}}"),
    ] {
        let expected =
            format!("service `web` uses the {kind} `x`, which the project does not have");
        assert_eq!(of(text), expected);
    }
    assert_eq!(
        of("services: {web: {image: a, secrets: [x]}}\nsecrets: {x: {environment: NO_SUCH}}"),
        "the compose files ask for the variable `NO_SUCH`: `x` in `secrets` has its value"
    );
    let optional = "services: {web: {image: a, env_file: [{path: none.env, required: false}]}}";
    let place = place(&[("compose.yml", optional)]);
    assert!(rendered(place.path(), &["compose.yml"]).is_ok());
}

/// The short form read the colon of a directory as its own.
#[test]
fn what_a_project_mounts_from_below_a_directory_with_a_colon_is_in_the_long_form() {
    let place = place(&[(
        "a:b/compose.yml",
        "services: {web: {image: a, volumes: ['./x:/x:ro,z', './y:/y:rslave', 'data:/data', '/c,d:/e:ro']}}\nvolumes: {data: }",
    )]);
    let directory = place.path().join("a:b");
    let document = rendered(&directory, &["compose.yml"]).expect("a project");
    let bind = |name: &str, options: Value| {
        let source = directory.join(name).display().to_string();
        json!({"type": "bind", "source": source, "target": format!("/{name}"), "bind": options})
    };
    let mut first = bind("x", json!({"selinux": "z"}));
    first["read_only"] = json!(true);
    let second = bind("y", json!({"propagation": "rslave"}));
    let expected = json!([first, second, "data:/data", "/c,d:/e:ro"]);
    assert_eq!(document["services"]["web"]["volumes"], expected);
}

/// Files and services that build on one another in a circle, or on what is not there, were left out.
#[test]
fn what_leads_nowhere_is_an_error() {
    let error = |files: &Files| {
        let place = place(files);
        let error = rendered(place.path(), &["compose.yml"]).expect_err("an error");
        error.to_string().replace(&place.path().display().to_string(), "")
    };
    let web = "services: {web: {image: a}}";
    let one = error(&[
        ("compose.yml", "include: [b.yml]\nservices: {web: {image: a}}"),
        ("b.yml", "include: [compose.yml]\nservices: {db: {image: a}}"),
    ]);
    assert_eq!(one, "compose file `/compose.yml`: it includes itself, if by other files");
    let chain = |name: &'static str, next: &'static str| (name, next);
    let deep = error(&[
        chain("compose.yml", "include: [1.yml]\nservices: {web: {image: a}}"),
        chain("1.yml", "include: [2.yml]"),
        chain("2.yml", "include: [3.yml]"),
        chain("3.yml", "include: [4.yml]"),
        chain("4.yml", "include: [5.yml]"),
        chain("5.yml", "include: [6.yml]"),
        chain("6.yml", "include: [7.yml]"),
        chain("7.yml", "include: [8.yml]"),
        chain("8.yml", web),
    ]);
    assert_eq!(deep, "compose file `/8.yml`: too many files or services build on one another");
    let extends = |text: &'static str| error(&[("compose.yml", text), ("b.yml", web)]);
    assert_eq!(
        extends("services: {web: {extends: none, image: a}}"),
        "compose file `/compose.yml`: service `web` extends `none`, which is not in `/compose.yml`"
    );
    assert_eq!(
        extends("services: {x: {extends: {file: b.yml, service: none}}}"),
        "compose file `/compose.yml`: service `x` extends `none`, which is not in `/b.yml`"
    );
    assert_eq!(
        extends("services: {x: {extends: z}, z: {extends: x, image: a}}"),
        "compose file `/compose.yml`: service `x` extends itself, if by other services"
    );
    assert_eq!(
        extends("include: [{path: b.yml, env_file: none.env}]"),
        "compose file `/compose.yml`: it includes with the env file `/none.env`, which does not exist"
    );
}

/// One of two services of the same name won, and nobody said so. `docker compose` 2.26 refuses it.
#[test]
fn two_included_files_that_declare_one_name_in_two_ways_are_an_error() {
    let of = |text: &'static str, a: &'static str, b: &'static str| {
        let place = place(&[("compose.yml", text), ("a.yml", a), ("b.yml", b)]);
        let error = rendered(place.path(), &["compose.yml"]).map_err(|error| error.to_string());
        error.map_err(|error| error.replace(&place.path().display().to_string(), ""))
    };
    let conflict = |kind: &str, name: &str| {
        format!(
            "compose file `/b.yml`: its {kind} `{name}` is another one than that of `/a.yml`, and both are included"
        )
    };
    let both = "include: [a.yml, b.yml]\nservices: {web: {image: w}}";
    let one = "services: {db: {image: mysql}}";
    let error = of(both, one, "services: {db: {image: mariadb}}");
    assert_eq!(error, Err(conflict("service", "db")));
    let error = of(both, "volumes: {data: }", "volumes: {data: {external: true}}");
    assert_eq!(error, Err(conflict("volume", "data")));
    // The same service by two ways is one.
    let document = of(both, one, "include: [a.yml]\nservices: {php: {image: php}}");
    assert_eq!(document.expect("a project")["services"]["db"], json!({"image": "mysql"}));
    // A file may change what it includes, as newer versions allow, and so may one that is named after another.
    let own = "include: [a.yml]\nservices: {web: {image: w}, db: {user: d}}";
    let document = of(own, one, "a: 1").expect("a project");
    assert_eq!(document["services"]["db"], json!({"image": "mysql", "user": "d"}));
    let list = "include: [{path: [a.yml, b.yml]}]\nservices: {web: {image: w}}";
    let document = of(list, one, "services: {db: {image: mariadb}}").expect("a project");
    assert_eq!(document["services"]["db"], json!({"image": "mariadb"}));
}

/// Two services of two files that extend each other's neighbours are no circle.
#[test]
fn files_whose_services_extend_each_other_are_no_circle() {
    let place = place(&[
        (
            "compose.yml",
            "services: {web: {extends: {file: b.yml, service: mid}}, base: {image: a, user: u}, own: {extends: {file: compose.yml, service: base}}}",
        ),
        ("b.yml", "services: {mid: {extends: {file: compose.yml, service: base}, image: b}}"),
    ]);
    let document = rendered(place.path(), &["compose.yml"]).expect("a project");
    assert_eq!(document["services"]["web"], json!({"image": "b", "user": "u"}));
    assert_eq!(document["services"]["own"], json!({"image": "a", "user": "u"}));
}

#[test]
fn an_included_file_has_its_own_directory_and_variables_below_those_of_the_project() {
    let place = place(&[
        (
            "compose.yml",
            "include:\n  - sub/a.yml\n  - {path: sub/b.yml, project_directory: other, env_file: [x.env, y.env]}\n\
             services: {web: {image: 'a:${STAMPEDE_T_SUB:-none}'}}",
        ),
        (".env", "STAMPEDE_T_BOTH=project\n"),
        ("sub/.env", "STAMPEDE_T_BOTH=sub\nSTAMPEDE_T_SUB=sub\n"),
        (
            "sub/a.yml",
            "services: {a: {image: '${STAMPEDE_T_BOTH}-${STAMPEDE_T_SUB}', build: ., environment: [STAMPEDE_T_SUB, STAMPEDE_T_BOTH]}}",
        ),
        (
            "sub/b.yml",
            "include: [c.yml]\nservices: {b: {image: '${STAMPEDE_T_SUB:-none}${STAMPEDE_T_X}', volumes: ['./d:/d'], secrets: [s]}}\n\
             secrets: {s: {environment: STAMPEDE_T_X}}",
        ),
        ("other/c.yml", "services: {c: {image: 'c${STAMPEDE_T_X}${STAMPEDE_T_BOTH}'}}"),
        ("x.env", "STAMPEDE_T_X=x\nSTAMPEDE_T_BOTH=x\n"),
        ("y.env", "STAMPEDE_T_X=y\n"),
    ]);
    let document = rendered(place.path(), &["compose.yml"]).expect("a project");
    let at = |name: &str| place.path().join(name).display().to_string();
    let services = &document["services"];
    assert_eq!(services["web"]["image"], "a:none");
    assert_eq!(services["a"]["image"], "project-sub");
    assert_eq!(services["a"]["build"]["context"], at("sub"));
    let variables = json!({"STAMPEDE_T_SUB": "sub", "STAMPEDE_T_BOTH": "project"});
    assert_eq!(services["a"]["environment"], variables);
    assert_eq!(services["b"]["image"], "noney");
    assert_eq!(services["b"]["volumes"], json!([format!("{}:/d", at("other/d"))]));
    assert_eq!(services["c"]["image"], "cyproject");
    assert_eq!(document["secrets"], json!({"s": {"content": "y"}}));
}

#[test]
fn an_error_of_a_file_has_a_hint() {
    for (text, expected) in [
        ("services:\n  web:\n    image: a\n    ports: !reset []", "`!reset`"),
        ("services:\n  web: !override {image: a}", "Docker's compose"),
        ("include: [none.yml]\nservices: {web: {image: a}}", "path"),
    ] {
        let place = place(&[("compose.yml", text)]);
        let error = rendered(place.path(), &["compose.yml"]).expect_err("an error");
        let hint = error.hint().unwrap_or_default();
        assert!(hint.contains(expected), "{error}: {hint}");
    }
}
