//! Tests how a project is edited.

use super::*;

fn project(document: &Value) -> Project {
    let Value::Object(document) = document.clone() else { panic!("a map") };
    Project { directory: "/srv/shop".into(), name: "shop".to_owned(), document }
}

/// An edit that asks for nothing.
struct Nothing {
    groups: BTreeMap<String, PathBuf>,
    limits: Limits,
    none: BTreeMap<String, String>,
    copies: BTreeMap<PathBuf, PathBuf>,
    php: BTreeMap<String, PhpFiles>,
}

impl Nothing {
    fn new() -> Nothing {
        let (groups, none, copies) = (BTreeMap::new(), BTreeMap::new(), BTreeMap::new());
        Nothing { groups, limits: Limits::default(), none, copies, php: BTreeMap::new() }
    }

    fn edit(&self) -> Edit<'_> {
        Edit {
            stack: "one",
            log_driver: "local",
            groups: &self.groups,
            limits: &self.limits,
            beside: &[],
            cpus_beside: &[],
            images: &self.none,
            env: &self.none,
            volumes: &self.none,
            copies: &self.copies,
            published: None,
            php: &self.php,
        }
    }
}

#[test]
fn nothing_of_the_machine_is_taken() {
    let given = json!({
        "name": "shop", "version": "3.8", "x-common": {"a": 1},
        "services": {"web": {
            "image": "nginx", "container_name": "web", "restart": "always", "ports": ["80:80"],
            "cgroup_parent": "other", "cpuset": "0-7", "logging": {"driver": "gelf"}, "build": ".",
            "deploy": {"replicas": 2, "restart_policy": {"condition": "any"}},
            "healthcheck": {"test": ["CMD", "true"]}, "labels": {"a": "b"}, "develop": {"watch": []},
        }},
        "networks": {
            "default": {"name": "shop_default", "ipam": {"config": [{"subnet": "172.20.0.0/16"}]}},
            "proxy": {"name": "proxy", "external": true}, "inner": null,
        },
        "volumes": {"data": {"name": "shop_data", "driver_opts": {"type": "none", "device": "/srv", "o": "bind"}},
                    "shared": {"external": true, "name": "shared"}},
    });
    let edited = Nothing::new().edit().apply(&project(&given));
    assert_eq!(
        edited,
        json!({
            "version": "3.8",
            "services": {"web": {
                "image": "nginx", "restart": "no", "logging": {"driver": "local"},
                "deploy": {"replicas": 2}, "healthcheck": {"disable": true},
                "labels": {LABEL: "one"}, "networks": {"default": {"aliases": ["web"]}},
            }},
            "networks": {"default": {}, "proxy": {}, "inner": {}},
            "volumes": {"data": {"labels": {LABEL: "one"}}, "shared": {"labels": {LABEL: "one"}}},
        })
    );
}

#[test]
fn a_service_gets_its_group_or_limits_of_its_own() {
    let given = json!({"services": {"web": {}, "db": {}, "php": {"deploy": {"resources": {"limits": {"memory": "1g"}}}}}});
    let mut nothing = Nothing::new();
    nothing.groups.insert("web".to_owned(), "/stampede-one/role-web".into());
    nothing.limits = Limits { cpus: "0,1".to_owned(), cpu_quota: Some(1.5), memory_bytes: 1 << 30 };
    let beside = ["db".to_owned()];
    let edit = Edit { beside: &beside, cpus_beside: &[2, 3], ..nothing.edit() };
    let edited = edit.apply(&project(&given));
    let services = &edited["services"];
    assert_eq!(services["web"]["cgroup_parent"], "/stampede-one/role-web");
    let slice = Path::new("/stampede_one.slice/stampede_one-role_web.slice");
    assert_eq!(parent_name(slice), "stampede_one-role_web.slice");
    assert_eq!(services["web"].get("cpuset"), None, "the group has the limits");
    assert_eq!(services["db"]["cpuset"], "2,3");
    assert_eq!(services["db"].get("cgroup_parent"), None);
    assert_eq!(
        (&services["php"]["cpuset"], &services["php"]["cpus"]),
        (&json!("0,1"), &json!(1.5))
    );
    assert_eq!(services["php"].get("mem_limit"), None, "its own limit is in `deploy`");
}

#[test]
fn variables_are_added_to_both_forms_and_not_beside_the_budget() {
    let given = json!({"services": {
        "a": {"environment": {"APP_ENV": "dev", "B": null}},
        "b": {"environment": ["APP_ENV=dev", "C=1", "D"]},
        "c": {}, "db": {"environment": {"X": "1"}},
    }});
    let env = BTreeMap::from([("APP_ENV".to_owned(), "p$d".to_owned())]);
    let (nothing, beside) = (Nothing::new(), ["db".to_owned()]);
    let edited = Edit { env: &env, beside: &beside, ..nothing.edit() }.apply(&project(&given));
    let of = |service: &str| edited["services"][service]["environment"].clone();
    assert_eq!(of("a"), json!({"APP_ENV": "p$$d", "B": null}));
    assert_eq!(of("b"), json!({"APP_ENV": "p$$d", "C": "1", "D": null}));
    assert_eq!(of("c"), json!({"APP_ENV": "p$$d"}));
    assert_eq!(of("db"), json!({"X": "1"}));
}

#[test]
fn the_users_directories_are_copied_and_those_of_the_system_are_read_only() {
    let given = json!({"services": {"php": {"volumes": [
        "/srv/shop:/app:rw",
        {"type": "bind", "source": "/srv/shop/conf", "target": "/conf", "read_only": true, "bind": {"create_host_path": true}},
        {"type": "bind", "source": "/srv/log", "target": "/log", "consistency": "cached"},
        "/etc/localtime:/etc/localtime", "data:/data", "/app/vendor",
        {"type": "volume", "source": "data", "target": "/d", "volume": {}}, {"type": "tmpfs", "target": "/t"},
    ]}}});
    let project = project(&given);
    let written = written_paths(&project);
    assert_eq!(written, ["/srv/shop", "/srv/log"].map(PathBuf::from).into());
    let mut nothing = Nothing::new();
    nothing.copies = written
        .iter()
        .map(|path| (path.clone(), Path::new("/copies").join(path.strip_prefix("/").unwrap())))
        .collect();
    let edited = nothing.edit().apply(&project);
    assert_eq!(
        edited["services"]["php"]["volumes"],
        json!([
            {"type": "bind", "source": "/copies/srv/shop", "target": "/app"},
            {"type": "bind", "source": "/copies/srv/shop/conf", "target": "/conf", "read_only": true, "bind": {"create_host_path": true}},
            {"type": "bind", "source": "/copies/srv/log", "target": "/log"},
            {"type": "bind", "source": "/etc/localtime", "target": "/etc/localtime", "read_only": true},
            "data:/data", "/app/vendor",
            {"type": "volume", "source": "data", "target": "/d", "volume": {}}, {"type": "tmpfs", "target": "/t"},
        ])
    );
}

#[test]
fn the_check_of_a_database_that_others_wait_for_stays() {
    let check = json!({"test": ["CMD", "mysqladmin", "ping"]});
    let given = json!({"services": {
        "web": {"depends_on": {"db": {"condition": "service_healthy"}}, "healthcheck": check},
        "db": {"healthcheck": check},
    }});
    let edited = Nothing::new().edit().apply(&project(&given));
    assert_eq!(edited["services"]["db"]["healthcheck"], check);
    assert_eq!(edited["services"]["web"]["healthcheck"], json!({"disable": true}));
}

#[test]
fn static_addresses_keep_their_network() {
    let ipam = json!({"config": [{"subnet": "172.20.0.0/16"}]});
    let given = json!({
        "services": {"web": {"networks": {"default": {"ipv4_address": "172.20.0.5"}}}},
        "networks": {"default": {"ipam": ipam}, "other": {"ipam": ipam, "enable_ipv6": true}},
    });
    let edited = Nothing::new().edit().apply(&project(&given));
    assert_eq!(edited["networks"]["default"]["ipam"], ipam);
    assert_eq!(edited["networks"]["other"], json!({}));
}

#[test]
fn networks_become_bridges_and_volumes_in_memory_stay_there() {
    let memory = json!({"type": "tmpfs", "device": "tmpfs", "o": "size=100m"});
    let given = json!({
        "services": {"web": {}},
        "networks": {
            "lan": {"driver": "macvlan", "driver_opts": {"parent": "eth0"}, "ipam": {"config": []}},
            "six": {"enable_ipv4": false, "enable_ipv6": true},
            "own": {"driver": "bridge", "driver_opts": {"com.docker.network.driver.mtu": "1400"}},
        },
        "volumes": {"memory": {"driver": "local", "driver_opts": memory}},
    });
    let edited = Nothing::new().edit().apply(&project(&given));
    assert_eq!(edited["networks"]["lan"], json!({}));
    assert_eq!(edited["networks"]["six"], json!({}));
    assert_eq!(edited["networks"]["own"], given["networks"]["own"]);
    let labels = json!({LABEL: "one"});
    assert_eq!(edited["volumes"]["memory"], json!({"driver_opts": memory, "labels": labels}));
}

#[test]
fn the_port_is_published_where_it_is_asked_for() {
    let given = json!({"services": {"web": {"ports": ["80:8080"]}, "db": {}}});
    let target = Target { service: "web".to_owned(), port: 8080 };
    let edited = Edit {
        published: Some((&target, "10.0.0.5:20001".parse().unwrap())),
        ..Nothing::new().edit()
    }
    .apply(&project(&given));
    assert_eq!(edited["services"]["web"]["ports"], json!(["10.0.0.5:20001:8080"]));
    assert_eq!(edited["services"]["db"].get("ports"), None);
}

#[test]
fn a_container_is_still_found_by_its_name() {
    let given = json!({"services": {
        "a": {"container_name": "x", "networks": ["front", "back"]},
        "b": {"container_name": "y", "networks": {"front": {"aliases": ["z"]}, "back": null}},
        "c": {"container_name": "v", "network_mode": "service:a"},
    }});
    let edited = Nothing::new().edit().apply(&project(&given));
    let of = |service: &str| edited["services"][service]["networks"].clone();
    assert_eq!(of("a"), json!({"front": {"aliases": ["x"]}, "back": {"aliases": ["x"]}}));
    assert_eq!(of("b"), json!({"front": {"aliases": ["z", "y"]}, "back": {"aliases": ["y"]}}));
    assert_eq!(of("c"), Value::Null);
}

#[test]
fn what_lies_below_a_copied_path_is_in_the_copy() {
    let given = json!({"services": {
        "php": {"volumes": ["/srv/shop:/app", "/srv/shop/storage:/app/storage", "/srv/shop2:/other"]},
        "web": {"volumes": ["/srv/shop/public:/app/public:ro"]},
    }});
    let project = project(&given);
    assert_eq!(written_paths(&project), ["/srv/shop", "/srv/shop2"].map(PathBuf::from).into());
    let mut nothing = Nothing::new();
    nothing.copies.insert("/srv/shop".into(), "/copies/0".into());
    let edited = nothing.edit().apply(&project);
    let source = |service: &str, number: usize| {
        edited["services"][service]["volumes"][number]["source"].clone()
    };
    assert_eq!(
        (source("php", 0), source("php", 1)),
        (json!("/copies/0"), json!("/copies/0/storage"))
    );
    assert_eq!(source("web", 0), json!("/copies/0/public"));
}

/// A copy needs the label that the original asks for.
#[test]
fn a_mount_keeps_how_selinux_shall_label_it() {
    let given = json!({"services": {"web": {"volumes": [
        "/srv/shop:/app:z", "/srv/shop/public:/public:ro,Z",
        {"type": "bind", "source": "/srv/shop", "target": "/long", "bind": {"selinux": "z"}},
    ]}}});
    let mut nothing = Nothing::new();
    nothing.copies.insert("/srv/shop".into(), "/copies/0".into());
    let edited = nothing.edit().apply(&project(&given));
    let long =
        json!({"type": "bind", "source": "/copies/0", "target": "/long", "bind": {"selinux": "z"}});
    let expected = json!(["/copies/0:/app:rw,z", "/copies/0/public:/public:ro,Z", long]);
    assert_eq!(edited["services"]["web"]["volumes"], expected);
}

/// The tools read the colon of a copy's path as the end of it.
#[test]
fn a_copy_below_a_directory_with_a_colon_is_mounted_in_the_long_form() {
    let given = json!({"services": {"web": {"volumes": [
        "/srv/5$$:/app:z", "/srv/5$$/a:/a:ro,Z,rslave", "/dev:/dev:rslave",
        {"type": "bind", "source": "/srv/5$$", "target": "/long", "consistency": "cached"},
    ]}}});
    let project = project(&given);
    assert_eq!(written_paths(&project), [PathBuf::from("/srv/5$")].into());
    let mut nothing = Nothing::new();
    nothing.copies.insert("/srv/5$".into(), "/tmp/a:b/$1/mount-0".into());
    let edited = nothing.edit().apply(&project);
    let bind =
        |source: &str, target: &str| json!({"type": "bind", "source": source, "target": target});
    let with = |mut mount: Value, key: &str, value: Value| {
        mount[key] = value;
        mount
    };
    let copy = "/tmp/a:b/$$1/mount-0";
    let below = with(bind(&format!("{copy}/a"), "/a"), "read_only", json!(true));
    let system = with(bind("/dev", "/dev"), "read_only", json!(true));
    let expected = json!([
        with(bind(copy, "/app"), "bind", json!({"selinux": "z"})),
        with(below, "bind", json!({"selinux": "Z", "propagation": "rslave"})),
        with(system, "bind", json!({"propagation": "rslave"})),
        bind(copy, "/long"),
    ]);
    assert_eq!(edited["services"]["web"]["volumes"], expected);
}

#[test]
fn a_service_whose_php_is_asked_keeps_its_own_mounts_and_variables() {
    let given = json!({"services": {
        "php": {"image": "php", "volumes": ["data:/data"], "environment": ["A=1"]},
        "db": {"image": "mysql"},
    }});
    let own = json!({"type": "bind", "source": "/w:0", "target": "/stampede", "read_only": true});
    let started = json!({"type": "bind", "source": "/w:0/started", "target": "/stampede/started"});
    let mut files = PhpFiles::default();
    files.add([own.clone(), started.clone()], "/stampede/php");
    let php = BTreeMap::from([("php".to_owned(), files)]);
    let edited = Edit { php: &php, ..Nothing::new().edit() }.apply(&project(&given));
    let service = &edited["services"]["php"];
    let mounts = json!(["data:/data", own, started]);
    assert_eq!(service["volumes"], mounts);
    assert_eq!(service["environment"], json!({"A": "1", "PHP_INI_SCAN_DIR": ":/stampede/php"}));
    let other = &edited["services"]["db"];
    assert!(other["volumes"].is_null() && other["environment"].is_null(), "{other}");
}

#[test]
fn limits_of_the_projects_own_are_named_in_both_forms() {
    let shown =
        |service: serde_json::Value| own_limit("php", &service).map(|limit| limit.to_string());
    let deployed = json!({"deploy": {"resources": {"limits": {"cpus": "0.5", "memory": "128M"}}}});
    assert_eq!(shown(deployed).as_deref(), Some("php (0.5 CPUs, 128M of memory)"));
    let own = shown(json!({"cpus": 2, "mem_limit": "268435456"}));
    assert_eq!(own.as_deref(), Some("php (2 CPUs, 256 MiB of memory)"));
    assert_eq!(shown(json!({"deploy": {"replicas": 2}})), None);
}

/// The engine would create them.
#[test]
fn directories_that_do_not_exist_are_copied_even_if_they_are_read_only() {
    let place = std::env::temp_dir();
    let there = format!("{}:/there:ro", place.display());
    let given = json!({"services": {"web": {"volumes": [there, "/srv/no-such/conf:/conf:ro"]}}});
    let written = written_paths(&project(&given));
    assert_eq!(written, [PathBuf::from("/srv/no-such/conf")].into());
}
