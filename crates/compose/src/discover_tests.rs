//! Tests of the projects that are found in a directory, with layouts as public projects have them.

use super::*;

struct Place(tempfile::TempDir);

impl Place {
    fn with(files: &[(&str, &str)]) -> Place {
        let place = Place(tempfile::tempdir().unwrap());
        for (name, text) in files {
            let path = place.0.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        place
    }

    fn path(&self) -> PathBuf {
        self.0.path().join("shop")
    }

    /// Each project as `name: files -> service:port`, with what else is known.
    fn found(&self) -> Vec<String> {
        let one = |candidate: Candidate| {
            let files: Vec<String> =
                candidate.files.iter().map(|file| file.display().to_string()).collect();
            let Target { service, port } = &candidate.target;
            let signs: Vec<String> = candidate.signs.iter().map(ToString::to_string).collect();
            let mut text = format!("{}: {} -> {service}:{port}", candidate.name, files.join("+"));
            let lists = [("or", &candidate.others), ("dev", &signs), ("unset", &candidate.unset)];
            for (what, list) in lists.into_iter().filter(|(_, list)| !list.is_empty()) {
                text += &format!(" {what} {}", list.join(","));
            }
            if candidate.is_called_development {
                text += " called so";
            }
            if candidate.kind != Kind::Plain {
                text += &format!(" {:?}", candidate.kind);
            }
            text.replace(&self.path().canonicalize().unwrap().display().to_string(), "HERE")
        };
        find(&self.path()).into_iter().map(one).collect()
    }
}

const WEB: &str =
    "services:\n  web: {image: nginx, ports: [\"${PORT:-8080}:80\"]}\n  php: {build: .}\n";

#[test]
fn the_usual_file_and_its_override_are_one_project() {
    let place = Place::with(&[
        ("shop/docker-compose.yml", WEB),
        ("shop/docker-compose.override.yml", "services: {php: {environment: [APP_ENV=dev]}}"),
        ("shop/.gitlab-ci.yml", "test: {image: php}"),
    ]);
    assert_eq!(
        place.found(),
        ["shop: docker-compose.yml+docker-compose.override.yml -> web:80 dev APP_ENV=dev"]
    );
}

#[test]
fn a_file_that_changes_the_usual_one_is_laid_over_it() {
    let place = Place::with(&[
        (
            "shop/compose.yaml",
            "services:\n  php: {ports: [{name: http, target: 80, published: 80}, {target: 443}], environment: {SERVER_NAME: \"${SERVER_NAME:-localhost}, php:80\", MERCURE_PUBLISHER_JWT_KEY: \"${KEY:-a}\"}}\n",
        ),
        (
            "shop/compose.override.yaml",
            "services: {php: {image: dev, build: {context: ., target: frankenphp_dev}, environment: {APP_ENV: \"${APP_ENV:-dev}\"}}}",
        ),
        (
            "shop/compose.prod.yaml",
            "services: {php: {image: prod, build: {context: ., target: frankenphp_prod}, environment: {APP_SECRET: \"${APP_SECRET}\"}}}",
        ),
    ]);
    assert_eq!(
        place.found(),
        [
            "shop: compose.yaml+compose.override.yaml -> php:80 dev APP_ENV=dev,service php is built with `target: frankenphp_dev` SymfonyDocker",
            "shop-prod: compose.yaml+compose.prod.yaml -> php:80 unset APP_SECRET SymfonyDocker",
        ]
    );
}

#[test]
fn each_whole_file_is_a_project_of_its_own() {
    let place = Place::with(&[
        (
            "shop/docker-compose.mysql.yml",
            "name: shop\nservices: {app: {image: shop, ports: [\"80:80\", \"443:443\"]}, db: {image: mysql}}",
        ),
        ("shop/docker-compose.sqlite.yml", "services: {app: {image: shop, ports: [\"80:80\"]}}"),
        ("shop/docker-compose.dev.yml", "services: {app: {image: shop, ports: [\"80:80\"]}}"),
        ("shop/docker/fpm.yml", WEB),
        ("shop/docker/franken/compose.yml", "services: {app: {image: franken, ports: [8000]}}"),
        ("shop/docker/compose/web-php.yaml", "services: {caddy: {image: caddy, ports: [8080]}}"),
        ("shop/docker/php/pool.yaml", "services: {not: one}"),
    ]);
    assert_eq!(
        place.found(),
        [
            "dev: docker-compose.dev.yml -> app:80 called so",
            "mysql: docker-compose.mysql.yml -> app:80",
            "sqlite: docker-compose.sqlite.yml -> app:80",
            "fpm: docker/fpm.yml -> web:80",
            "web-php: docker/compose/web-php.yaml -> caddy:8080",
            "franken: docker/franken/compose.yml -> app:8000",
        ]
    );
}

#[test]
fn a_file_whose_name_ends_as_a_compose_file_is_one() {
    let place = Place::with(&[
        ("shop/docker-compose.yml", WEB),
        ("shop/fpm-docker-compose.yml", &WEB.replace("php:", "php: {image: php}\n  fpm:")),
        ("shop/v-docker-compose.yml", "services: {web: {build: v, ports: [\"80:80\"]}}"),
        // It publishes nothing.
        (
            "shop/fpm-alpine-docker-compose.yml",
            "services: {php: {build: .}, proxy: {image: nginx}}",
        ),
        ("shop/decompose.yml", WEB),
        (
            "shop/docker/franken.compose.yaml",
            "services: {app: {image: dunglas/frankenphp, ports: [80]}}",
        ),
    ]);
    assert_eq!(
        place.found(),
        [
            "shop: docker-compose.yml -> web:80",
            "fpm: fpm-docker-compose.yml -> web:80",
            "v: v-docker-compose.yml -> web:80",
            "franken: docker/franken.compose.yaml -> app:80",
        ]
    );
}

#[test]
fn what_serves_no_page_is_no_project() {
    // What Symfony's recipes write for a database alone.
    let database = "services: {database: {image: postgres, ports: [\"5432\"]}, mailer: {image: axllent/mailpit, ports: [\"1025\", \"8025\"]}}";
    let place = Place::with(&[("shop/compose.yaml", database)]);
    assert_eq!(place.found(), [""; 0]);
    for text in ["", "services: []", "services: {a: {ports: [80]}}", "a: b: c", "- 1"] {
        let place = Place::with(&[("shop/compose.yaml", text)]);
        assert_eq!(place.found(), [""; 0], "{text}");
    }
}

#[test]
fn of_several_services_with_a_port_the_most_likely_is_proposed() {
    let place = Place::with(&[(
        "shop/compose.yaml",
        "services:\n  api: {image: a, ports: [\"8001:8000\"]}\n  nginx: {image: b, ports: [\"80:80\"]}\n  adminer: {image: adminer, ports: [\"8080:8080\"]}\n",
    )]);
    assert_eq!(place.found(), ["shop: compose.yaml -> nginx:80 or api"]);
}

#[test]
fn sail_and_ddev_are_known() {
    let sail = "services:
  laravel.test:
    build: {context: ./vendor/laravel/sail/runtimes/8.4, args: {WWWGROUP: '${WWWGROUP}'}}
    ports: ['${APP_PORT:-80}:80', '${VITE_PORT:-5173}:${VITE_PORT:-5173}']
    environment: {LARAVEL_SAIL: 1, XDEBUG_MODE: '${SAIL_XDEBUG_MODE:-off}'}
    volumes: ['.:/var/www/html']
";
    let place = Place::with(&[
        ("shop/compose.yaml", sail),
        ("shop/composer.json", "{\"require\": {\"laravel/octane\": \"^2.0\"}}"),
        ("shop/.env", "APP_ENV=local\nWWWGROUP=1000\n"),
    ]);
    assert_eq!(
        place.found(),
        [
            "shop: compose.yaml -> laravel.test:80 dev APP_ENV=local in .env,the code of service laravel.test is mounted from HERE Sail { has_octane: true }"
        ]
    );
    let place = Place::with(&[(
        "shop/.ddev/config.yaml",
        "name: meals\nphp_version: \"8.4\"\nwebserver_type: nginx-fpm\nweb_environment: [APP_ENV=dev]\n",
    )]);
    assert_eq!(
        place.found(),
        [
            "meals: .ddev/.ddev-docker-compose-full.yaml -> web:80 dev APP_ENV=dev Ddev { is_rendered: false, webserver: \"nginx-fpm\", php: \"8.4\" }"
        ]
    );
}

/// For projects of others, which are not in this repository.
#[test]
#[ignore = "by hand: prints what is found in the directories of COMPOSE_PLACES (colons between them)"]
fn projects_of_others_are_printed() {
    let places = std::env::var("COMPOSE_PLACES").unwrap_or_default();
    for place in places.split(':').filter(|place| !place.is_empty()) {
        for found in find(Path::new(place)) {
            println!("{place}: {found:#?}");
        }
    }
}
