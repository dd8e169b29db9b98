use std::path::Path;

use super::*;

fn project(services: &str) -> Project {
    let document = serde_saphyr::from_str(services).expect("YAML");
    let document = [("services".to_owned(), document)].into_iter().collect();
    Project { directory: Path::new("/srv/shop").to_owned(), name: "shop".to_owned(), document }
}

/// What requests go to, or the hint of the error.
fn chosen(services: &str) -> String {
    match project(services).target(None, None) {
        Ok(Target { service, port }) => format!("{service}:{port}"),
        Err(error) => error.hint().unwrap_or_default(),
    }
}

#[test]
fn a_tool_a_database_or_a_program_without_pages_is_not_measured_because_it_is_alone() {
    for alone in [
        "{adminer: {image: \"adminer:4\", ports: [\"8080:8080\"]}}",
        "{database: {image: \"bitnami/mariadb:11\", ports: [\"3306:3306\"]}}",
        "{database: {image: \"postgres:16\"}, cache: {image: \"valkey/valkey:8\"}}",
    ] {
        let found = chosen(alone);
        assert!(found.contains("--service NAME"), "{alone}: {found}");
    }
    assert_eq!(
        chosen("{shell: {build: ., ports: [\"2222:22\"]}, app: {build: .}}"),
        hint_of("app:80", "shell, app")
    );
}

fn hint_of(target: &str, known: &str) -> String {
    let (service, port) = target.split_once(':').expect("a target");
    format!(
        "name the service and its port: `--service {service} --port {port}` (services: {known})"
    )
}

#[test]
fn a_database_behind_the_same_proxy_is_no_app() {
    let both = "{db: {image: mariadb, labels: [traefik.enable=true]}, wp: {image: wordpress, labels: [traefik.enable=true]}}";
    assert_eq!(chosen(both), "wp:80");
}

#[test]
fn what_is_said_to_a_proxy_comes_before_ports_that_are_no_web_servers() {
    let label = "traefik.http.services.app.loadbalancer.server.port=8000";
    let text = format!(
        "{{traefik: {{image: traefik, ports: [\"80:80\"]}}, log: {{image: syslog, ports: [\"601:601\"]}}, \
         app: {{image: shop, labels: [\"{label}\"]}}}}"
    );
    assert_eq!(chosen(&text), "app:8000");
}

#[test]
fn a_proxy_that_is_not_started_gives_way_to_another_service_with_a_port() {
    let text = "{traefik: {image: \"traefik:v3\", ports: [\"80:80\"]}, php: {build: ., ports: [\"8080:8080\"]}}";
    assert_eq!(chosen(text), "php:8080");
}

#[test]
fn a_web_server_is_one_on_any_port() {
    let text = "{api: {build: ., ports: [\"9000:9000\"]}, nginx: {image: \"nginx:alpine\", ports: [\"9999:9999\"]}}";
    assert_eq!(chosen(text), "nginx:9999");
}

#[test]
fn the_hint_names_the_likeliest_service_with_its_own_port() {
    let ports = "{build: ., ports: [\"8040:8040\"]}";
    let text = format!(
        "{{alerts: {ports}, shop_php: {{build: ., ports: [\"8030:8030\"]}}, db: {{image: mysql}}}}"
    );
    assert_eq!(chosen(&text), hint_of("shop_php:8030", "alerts, shop_php, db"));
    let text = format!("{{panel: {ports}, front: {{image: \"nginx:1\", ports: [\"80:8081\"]}}}}");
    assert_eq!(chosen(&text), hint_of("front:8081", "panel, front"));
    assert_eq!(
        chosen("{database: {image: postgres}, php: {build: .}}"),
        hint_of("php:80", "database, php")
    );
    let text = "{alerts: {image: notify, ports: [\"8000:8000\"]}, shop: {build: ., ports: [\"8040:8040\"]}}";
    assert_eq!(chosen(text), hint_of("shop:8040", "alerts, shop"));
    let nginx = "{image: nginx, ports: [\"8000:80\"]}";
    let text = format!("{{hub_proxy: {nginx}, shop_nginx: {nginx}}}");
    assert_eq!(chosen(&text), hint_of("shop_nginx:80", "hub_proxy, shop_nginx"));
}
