use super::*;

fn project(text: &str) -> Project {
    Project::parse(text, Path::new("/srv/My Shop!")).expect("a project")
}

fn target(text: &str, service: Option<&str>, port: Option<u16>) -> Result<(String, u16), String> {
    let found = project(text).target(service, port);
    found.map(|found| (found.service, found.port)).map_err(|error| error.to_string())
}

#[test]
fn the_only_published_service_is_found_in_every_form_of_ports() {
    for ports in [
        "[\"8080:80\"]",
        "[\"127.0.0.1:8080:80/tcp\"]",
        "[80]",
        "[\"80\"]",
        "[{target: 80, published: \"8080\"}]",
        "[{target: 80, published: 8080, protocol: tcp, mode: ingress}, {target: 443, published: 443}]",
        "[\"80:80/tcp\", \"443:443/tcp\", \"443:443/udp\"]",
        "[\"8080-8090:80-90\"]",
        "[\"80:80\", \"81:80\"]",
    ] {
        let text = format!(
            "services:\n  db: {{image: mysql, ports: [\"3306:3306\"]}}\n  web: {{image: nginx, ports: {ports}}}\n"
        );
        assert_eq!(target(&text, None, None), Ok(("web".to_owned(), 80)), "{ports}");
    }
}

#[test]
fn what_is_not_clear_is_asked_for() {
    let two = "services: {a: {ports: [\"80:80\"]}, b: {ports: [\"81:8080\"]}, c: {}}";
    let error = "several services of the project publish a port: a, b";
    assert_eq!(target(two, None, None), Err(error.to_owned()));
    assert_eq!(target(two, Some("b"), None), Ok(("b".to_owned(), 8080)));
    assert_eq!(target(two, None, Some(8080)), Ok(("b".to_owned(), 8080)));
    assert_eq!(target(two, Some("c"), Some(9000)), Ok(("c".to_owned(), 9000)));
    assert_eq!(target(two, Some("c"), None), Err("service `c` publishes no port".to_owned()));
    assert_eq!(target(two, Some("d"), None), Err("the project has no service `d`".to_owned()));
    let none = "services: {a: {}, b: {}}";
    assert_eq!(
        target(none, None, None),
        Err("no service of the project publishes a port of a web server".to_owned())
    );
    let several = "services: {a: {ports: [\"80:80\", \"8080:8080\"]}}";
    let error = "service `a` publishes several ports: 80, 8080";
    assert_eq!(target(several, None, None), Err(error.to_owned()));
    // A single service needs no published port, only its number.
    assert_eq!(target("services: {a: {}}", None, Some(80)), Ok(("a".to_owned(), 80)));
}

#[test]
fn tools_of_developers_are_neither_measured_nor_started_unless_they_are_needed() {
    let text = "services:
  web: {image: nginx, ports: [\"80:80\", \"5173:5173\"], depends_on: [php]}
  php: {build: ., depends_on: {db: {condition: service_started}}}
  db: {image: mysql, ports: [\"3306:3306\"]}
  adminer: {ports: [\"8081:8080\"], depends_on: [db]}
  mail: {image: \"axllent/mailpit:v1.20\", ports: [\"8025:8025\"]}
  search: {image: \"registry.example/elastic/elasticsearch@sha256:ab\", ports: [\"9200:9200\"]}
";
    assert_eq!(target(text, None, None), Ok(("web".to_owned(), 80)));
    let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
    assert_eq!(project(text).left_out("web"), names(&["adminer", "mail"]));
    assert_eq!(project(text).left_out("adminer"), names(&["mail"]));
    let needed = text.replace("[php]", "[php, mail]");
    assert_eq!(project(&needed).left_out("web"), names(&["adminer"]));
    assert_eq!(project(text).needed_by(["web"].into_iter()), names(&["db", "php", "web"]));
    // As docker-compose 1 prints it.
    let lends = text.replace("depends_on: [php]", "volumes_from: [\"service:mail:ro\"]");
    assert_eq!(project(&lends).left_out("web"), names(&["adminer"]));
    assert_eq!(project(&lends).service("web").expect("it")["volumes_from"][0], "mail:ro");
}

#[test]
fn a_directory_stands_for_the_files_that_compose_finds_there() {
    let place = tempfile::tempdir().unwrap();
    let place = place.path().canonicalize().unwrap();
    assert!(all_of(&place).is_err() && all_of(&place.join("a.yml")).is_err());
    for name in ["docker-compose.yml", "docker-compose.override.yaml", "compose.yaml"] {
        std::fs::write(place.join(name), "").unwrap();
    }
    assert_eq!(all_of(&place).unwrap(), [place.join("compose.yaml")]);
    std::fs::remove_file(place.join("compose.yaml")).unwrap();
    let both = ["docker-compose.yml", "docker-compose.override.yaml"].map(|name| place.join(name));
    assert_eq!(all_of(&place).unwrap(), both);
    assert_eq!(all_of(&both[0]).unwrap(), both[..1]);
    // Files in `docker` have all sorts of names.
    std::fs::create_dir(place.join("docker")).unwrap();
    std::fs::write(place.join("docker/fpm.yml"), "services: {web: {image: nginx}}").unwrap();
    let hint = all_of(&place.join("docker")).unwrap_err().hint();
    let file = place.join("docker/fpm.yml");
    assert_eq!(hint, Some(format!("there is `--compose {}`", file.display())));
}

#[test]
fn a_project_has_the_name_that_its_user_would_give_it() {
    assert_eq!(project("services: {a: {}}").name, "myshop");
    assert_eq!(project("{name: shop, services: {a: {}}}").name, "shop");
    for wrong in ["[]", "services: []", "x: 1", "a: b: c"] {
        assert!(Project::parse(wrong, Path::new("/srv")).is_err(), "{wrong}");
    }
}

#[test]
fn the_name_and_the_profiles_of_the_environment_file_are_read() {
    let place = tempfile::tempdir().unwrap();
    std::fs::write(place.path().join(".env"), "A=1\nCOMPOSE_PROJECT_NAME=\"shop\"\n").unwrap();
    let text = "services: {web: {}, tool: {profiles: [debug]}, host: {network_mode: host}}";
    let mut project = Project::parse(text, place.path()).unwrap();
    assert_eq!(project.name, "shop");
    assert_eq!(project.with_host_network(), Some("host"));
    project.drop_inactive("debug, other");
    assert_eq!(project.services().count(), 3);
    project.drop_inactive("");
    assert_eq!(project.services().map(|(name, _)| name).collect::<Vec<_>>(), ["web", "host"]);
}

#[test]
fn services_that_others_wait_for_until_healthy_are_known() {
    let text = "services: {web: {depends_on: {db: {condition: service_healthy}, redis: {condition: service_started}}}, \
                db: {}, redis: {}}";
    let project = project(text);
    assert!(project.is_waited_for_until_healthy("db"));
    assert!(!project.is_waited_for_until_healthy("redis"));
}

#[test]
fn a_service_behind_a_proxy_is_found_by_what_it_says_to_the_proxy() {
    let traefik = "services:
  traefik: {image: \"traefik:v3\", ports: [\"80:80\", \"8080:8080\"], volumes: [\"/var/run/docker.sock:/var/run/docker.sock:ro\"]}
  app: {image: shop, labels: {traefik.enable: \"true\", traefik.http.services.app.loadbalancer.server.port: \"8000\"}}
  pma: {image: phpmyadmin, labels: [\"traefik.enable=true\"]}
  db: {image: mysql, labels: [\"traefik.enable=false\"]}
";
    assert_eq!(target(traefik, None, None), Ok(("app".to_owned(), 8000)));
    assert_eq!(target(traefik, None, Some(9000)), Ok(("app".to_owned(), 9000)));
    assert_eq!(target(traefik, Some("traefik"), Some(80)), Ok(("traefik".to_owned(), 80)));
    let left: Vec<String> = project(traefik).left_out("app").into_iter().collect();
    assert_eq!(left, ["pma", "traefik"]);
    assert!(!project(traefik).left_out("traefik").contains("traefik"), "it was asked for");
    let image = |text: &str| {
        let project = project(text);
        let found = project.target(None, None).expect("a target");
        project.image_with_port(&found).map(str::to_owned)
    };
    assert_eq!(image(traefik), None, "a label says it");
    // The proxy belongs to another project.
    let alone =
        "services: {web: {image: nginx, environment: {VIRTUAL_HOST: a.test}}, php: {image: php}}";
    assert_eq!(target(alone, None, None), Ok(("web".to_owned(), 80)));
    assert_eq!(image(alone), Some("nginx".to_owned()));
    // Who publishes a port is asked there.
    let both = "services: {web: {image: nginx, ports: [\"8081:81\"], labels: [\"traefik.enable=true\"]}, php: {image: php}}";
    assert_eq!(target(both, None, None), Ok(("web".to_owned(), 81)));
    let several = "services: {a: {labels: [caddy=a.test]}, b: {labels: [caddy=b.test]}, c: {}}";
    let error = "several services of the project publish a port: a, b";
    assert_eq!(target(several, None, None), Err(error.to_owned()));
    // A proxy alone is what is published.
    let only = "services: {proxy: {image: traefik, ports: [\"80:80\"]}, c: {}}";
    assert_eq!(target(only, None, None), Ok(("proxy".to_owned(), 80)));
}

/// A directory whose compose files have other names than the tools look for, and a name that is misspelt.
#[test]
fn where_a_file_is_missing_those_that_are_there_are_named() {
    let place = tempfile::tempdir().expect("a directory");
    let hint = |name: &str| {
        let error = all_of(&place.path().join(name)).expect_err("there is none");
        let text = format!("{error}\n{}", error.hint().unwrap_or_default());
        text.replace(&place.path().display().to_string(), "DIR")
    };
    let nothing = hint("");
    for name in ["compose.dev.yaml", "docker/app.yml"] {
        let path = place.path().join(name);
        std::fs::create_dir_all(path.parent().expect("a directory")).expect("directories");
        std::fs::write(path, "services: {web: {image: nginx}}\n").expect("a file");
    }
    insta::assert_snapshot!(
        [nothing, hint(""), hint("compose.yaml"), hint("none/a.yml")].join("\n")
    );
}

/// What an override alone has, and a variable without a value in front of a mount.
#[test]
fn a_service_that_cannot_be_started_is_refused_before_anything_is() {
    let refused = |text: &str| project(text).check_whole().map_err(|error| error.to_string());
    let no_image = "service `web` has neither an image nor a build";
    assert_eq!(refused("services: {web: {ports: [\"80:80\"]}}"), Err(no_image.to_owned()));
    let unset = "service `web` names an image by a variable that has no value";
    assert_eq!(refused("services: {web: {image: \"\"}}"), Err(unset.to_owned()));
    let unset = "service `web` names a volume by a variable that has no value";
    for mount in ["\":/srv\"", "\":/srv:ro\"", "{type: bind, source: \"\", target: /srv}"] {
        let text = format!("services: {{web: {{build: ., volumes: [{mount}]}}}}");
        assert_eq!(refused(&text), Err(unset.to_owned()), "{mount}");
    }
    let whole =
        "services: {web: {build: {dockerfile: a.Dockerfile}, volumes: [\"/cache\", \".:/srv\"]}}";
    assert_eq!(refused(whole), Ok(()));
}
