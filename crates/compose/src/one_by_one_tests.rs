use super::*;

fn of(document: Value) -> OneByOne {
    let Value::Object(document) = document else { panic!("a map") };
    OneByOne::of(document, ("stampede-x", "4F"), Path::new("/run/4F"))
}

fn service<'a>(all: &'a OneByOne, name: &str) -> (&'a Value, &'a ServiceStart) {
    let start = all.services.iter().find(|one| one.name == name).expect("a service");
    (&all.document["services"][name], start)
}

#[test]
fn the_service_that_requests_go_to_starts_last_unless_another_one_waits_for_it() {
    let order = |services: Value, last: &str| {
        let mut all = of(json!({ "services": services }));
        all.start_last(last);
        all.services.into_iter().map(|start| start.name).collect::<Vec<_>>().join(" ")
    };
    assert_eq!(order(json!({"nginx": {}, "php": {}, "worker": {}}), "nginx"), "php worker nginx");
    assert_eq!(
        order(json!({"a": {"depends_on": ["nginx"]}, "nginx": {}, "php": {}}), "nginx"),
        "nginx a php"
    );
    assert_eq!(
        order(json!({"nginx": {}, "sidecar": {"network_mode": "service:nginx"}}), "nginx"),
        "nginx sidecar"
    );
    assert_eq!(order(json!({"a": {}, "b": {}}), "none"), "a b");
}

#[test]
fn services_start_after_those_that_they_need() {
    let all = of(json!({"services": {
        "a": {"depends_on": {"web": {"condition": "service_healthy"}}},
        "b": {"volumes_from": ["c:ro"], "links": ["db:database", "php"]},
        "c": {"network_mode": "service:php"},
        "db": {}, "php": {"depends_on": ["db"]},
        "web": {"depends_on": {"php": {"condition": "service_completed_successfully"}}},
        "x": {"depends_on": ["y"]}, "y": {"depends_on": ["x"]},
    }}));
    let order: Vec<&str> = all.services.iter().map(|one| one.name.as_str()).collect();
    assert_eq!(order, ["db", "php", "c", "b", "web", "a", "x", "y"]);
    let waits = |name: &str| service(&all, name).1.waits.clone();
    assert_eq!(waits("a"), [("web".to_owned(), Condition::Healthy)]);
    assert_eq!(waits("web"), [("php".to_owned(), Condition::Completed)]);
    assert_eq!(waits("php"), [("db".to_owned(), Condition::Started)]);
    let (_, db) = service(&all, "db");
    assert!(db.options.contains(&"--network-alias=database".to_owned()), "{db:?}");
    let (_, b) = service(&all, "b");
    assert_eq!(b.shared, [("--volumes-from=", "c".to_owned(), ":ro".to_owned())]);
    assert_eq!(service(&all, "c").1.network_mode.as_deref(), Some("network_mode: service:php"));
}

#[test]
fn what_podman_compose_has_no_word_for_becomes_an_option() {
    let all = of(json!({"services": {"web": {
        "cgroup_parent": "/stampede-4F/web", "cpuset": "0,1", "memswap_limit": 512, "user": null,
        "sysctls": {"net.core.somaxconn": 1024}, "dns": "10.0.0.1", "stop_grace_period": "3s",
        "networks": {"front": {"aliases": ["shop_web"], "ipv4_address": "10.9.0.7"}, "back": null}, "cgroup": "host",
        "environment": {"DEBUG": true, "PRICE": "5$$", "DB_PASSWORD": "s$$t", "PATH": "/bin", "NONE": null},
        "extra_hosts": {"api": "10.0.0.9"}, "scale": 2, "ipc": "service:db",
        "configs": [{"source": "ini", "target": "/etc/php.ini"}],
        "healthcheck": {"test": ["CMD", "curl", "-f", "a b"], "retries": 3},
    }, "db": {"healthcheck": {"disable": true}, "network_mode": "bridge"}, "php": {"healthcheck": {"test": "test -n $$A"}}},
        "configs": {"ini": {"file": "/srv/php.ini"}},
        "networks": {"front": {"internal": true, "ipam": {"config": [{"subnet": "10.9.0.0/24"}]}}, "unused": {}},
        "volumes": {"data": {"driver_opts": {"type": "tmpfs", "device": "tmpfs"}}, "kept": {"external": true, "name": "k"}},
    }));
    let (web, start) = service(&all, "web");
    assert_eq!(
        start.options,
        [
            "--cgroupns=host",
            "--cgroup-parent=/stampede-4F/web",
            "--cpuset-cpus=0,1",
            "--dns=10.0.0.1",
            "--memory-swap=512",
            "--sysctl=net.core.somaxconn=1024",
            "--network-alias=web",
            "--network-alias=shop_web",
            "--network=stampede-x_front:ip=10.9.0.7",
            "--label=org.stampede.stack=4F",
        ]
    );
    assert_eq!(start.secrets, [("DB_PASSWORD".to_owned(), "s$t".to_owned())]);
    assert_eq!(start.shared, [("--ipc=container:", "db".to_owned(), String::new())]);
    assert_eq!(
        *web,
        json!({
            "environment": {"DEBUG": "true", "PRICE": "5$$", "DB_PASSWORD": null, "PATH": "/bin"},
            "networks": ["back"], "extra_hosts": ["api:10.0.0.9"], "deploy": {"replicas": 2},
            "volumes": [{"type": "bind", "source": "/srv/php.ini", "target": "/etc/php.ini", "read_only": true}],
            "healthcheck": {"test": "curl -f 'a b'", "retries": 3},
        })
    );
    let (db, start) = service(&all, "db");
    assert_eq!(start.network_mode, None);
    assert_eq!(db["healthcheck"], json!({"test": ["NONE"]}));
    assert_eq!(db["networks"], json!(["default"]));
    assert_eq!(service(&all, "php").0["healthcheck"], json!({"test": "test -n $$A"}));
    let created: Vec<String> = all.creations.iter().map(|words| words.join(" ")).collect();
    let labels = "--label=com.docker.compose.project=stampede-x --label=org.stampede.stack=4F";
    assert_eq!(
        created,
        [
            format!("network create {labels} stampede-x_back"),
            format!("network create {labels} stampede-x_default"),
            format!("network create {labels} --internal --subnet=10.9.0.0/24 stampede-x_front"),
            format!("volume create {labels} --opt=type=tmpfs --opt=device=tmpfs stampede-x_data"),
        ]
    );
    // `front` is in the options of `web`: podman-compose refuses a network that no service lists.
    let network = |name: &str| json!({"external": true, "name": name});
    assert_eq!(
        all.document["networks"],
        json!({"back": network("stampede-x_back"), "default": network("stampede-x_default")})
    );
    assert_eq!(all.document["volumes"]["kept"], json!({"external": true, "name": "k"}));
    assert_eq!(all.document["x-podman"]["in_pod"], false);
}

#[test]
fn addresses_are_given_in_the_form_that_podman_takes() {
    let at = |address: &str| json!({"ipv4_address": address});
    let all = of(json!({"services": {
        "one": {"networks": {"front": at("10.9.0.7")}},
        "none": {"networks": {"front": null, "back": {}}},
        "each": {"networks": {"front": at("10.9.0.8"), "back": at("10.8.0.8")}},
    }}));
    let (one, start) = service(&all, "one");
    assert_eq!((&one["networks"], &start.options[0][..]), (&json!(["front"]), "--ip=10.9.0.7"));
    assert_eq!(service(&all, "none").0["networks"], json!(["front", "back"]));
    assert!(service(&all, "none").1.refused.is_none() && start.refused.is_none());
    assert!(service(&all, "each").1.refused.is_some());
}

/// Podman-compose drops configurations whose text is in the project.
#[test]
fn configurations_and_secrets_are_mounted_as_files() {
    let all = of(json!({
        "services": {"web": {
            "configs": ["site", {"source": "ini", "target": "/etc/php.ini"}],
            "secrets": ["key", {"source": "word", "target": "db"}, "of_podman"],
        }, "other": {"configs": ["of_swarm"]}},
        "configs": {"site": {"content": "price 5$$"}, "ini": {"file": "/srv/a.ini"}, "of_swarm": {"external": true}},
        "secrets": {"key": {"file": "/srv/key"}, "word": {"content": "w"}, "of_podman": {"external": true}},
    }));
    let (web, start) = service(&all, "web");
    let mount = |source: &str, target: &str| json!({"type": "bind", "source": source, "target": target, "read_only": true});
    assert_eq!(
        web["volumes"],
        json!([
            mount("/run/4F/configs-0", "/site"),
            mount("/srv/a.ini", "/etc/php.ini"),
            mount("/srv/key", "/run/secrets/key"),
            mount("/run/4F/secrets-1", "/run/secrets/db"),
        ])
    );
    assert_eq!((&web["secrets"], &start.refused), (&json!(["of_podman"]), &None));
    assert_eq!(all.document["secrets"], json!({"of_podman": {"external": true}}));
    assert_eq!(service(&all, "other").1.refused.as_deref(), Some("configs: of_swarm"));
    let files: Vec<&str> = all.files.keys().filter_map(|path| path.to_str()).collect();
    assert_eq!(files, ["/run/4F/configs-0", "/run/4F/secrets-1"]);
}

/// They were left out.
#[test]
fn configurations_and_secrets_have_the_owner_and_mode_that_a_service_asks_for() {
    let owned = |uid: Value| json!([{"source": "key", "uid": uid, "gid": "33", "mode": "0440"}]);
    let all = of(json!({
        "services": {
            "a": {"secrets": owned(json!("33"))},
            "b": {"secrets": owned(json!(33)), "configs": [{"source": "site", "mode": 256}, "site"]},
            "named": {"secrets": owned(json!("www-data"))},
            "apart": {"secrets": owned(json!("33")), "userns_mode": "auto"},
            "podman": {"secrets": [{"source": "of_podman", "uid": "33", "mode": 288}]},
        },
        "configs": {"site": {"content": "x"}},
        "secrets": {"key": {"file": "/srv/5$$/key"}, "of_podman": {"external": true}},
    }));
    let sources = |name: &str| {
        let mounts = service(&all, name).0["volumes"].as_array().expect("mounts").iter();
        mounts.map(|one| one["source"].as_str().expect("a path").to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(sources("a"), ["/run/4F/secrets-0"]);
    // The same file for the same use, and another one for another mode.
    assert_eq!(sources("b"), ["/run/4F/configs-1", "/run/4F/configs-2", "/run/4F/secrets-0"]);
    assert!(service(&all, "a").1.refused.is_none());
    let refused = |name: &str| service(&all, name).1.refused.clone().unwrap_or_default();
    assert_eq!(refused("named"), "secrets: key (uid: \"www-data\")");
    assert!(refused("apart").contains("userns_mode"), "{}", refused("apart"));
    let left = json!([{"source": "of_podman", "uid": "33", "mode": "0440"}]);
    assert_eq!(service(&all, "podman").0["secrets"], left);
}

/// They were written into the document, and from there on a command line.
#[test]
fn secrets_with_names_like_those_of_podmans_variables_are_hidden_too() {
    let secrets = json!({
        "STORAGE_SECRET_KEY": "s", "CONTAINER_REGISTRY_PASSWORD": "c", "XDG_TOKEN": "x", "REGISTRY_AUTH_FILE": "/x",
    });
    let all = of(json!({"services": {"web": {"environment": secrets}}}));
    let (web, start) = service(&all, "web");
    assert_eq!(
        web["environment"],
        json!({"STORAGE_SECRET_KEY": null, "CONTAINER_REGISTRY_PASSWORD": null, "XDG_TOKEN": null, "REGISTRY_AUTH_FILE": "/x"})
    );
    assert_eq!(start.secrets.len(), 3);
}
