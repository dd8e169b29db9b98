use super::*;

/// The hint for what a tool says of a project that may have an example of its `.env`.
fn hint(command: &str, said: &str) -> String {
    let (command, said) = (command.to_owned(), said.to_owned());
    let place = tempfile::tempdir().expect("a directory");
    std::fs::write(place.path().join(".env.example"), "A=1\n").expect("a file");
    let said = said.replace("/srv/shop", &place.path().display().to_string());
    let error = ComposeError::Tool { command, said, example: None };
    let hint = error.with_example(place.path()).hint().unwrap_or_default();
    hint.replace(&place.path().display().to_string(), "/srv/shop")
}

#[test]
fn what_a_tool_says_has_the_hint_that_helps() {
    for (said, expected) in [
        (
            "Couldn't find env file: /srv/shop/.env",
            "copy `/srv/shop/.env.example` to `/srv/shop/.env`",
        ),
        ("services.web.ports contains an invalid type", ".env.example"),
        ("mkdir /x: no space left on device", "docker system prune"),
        ("head: error writing: No space left on device", "docker system prune"),
        ("services.php.ports contains unsupported option: 'name'", "version 2"),
        ("build path /srv/vendor/laravel/sail/runtimes/8.4 does not exist", "composer install"),
        ("Service web has neither an image nor a build", "base.yml:override.yml"),
        ("Service web has neither an image nor a build", "`context: .`"),
        (
            "services.web.env_file contains {\"path\": \".env\"}, which is an invalid type",
            "version 2",
        ),
        ("services.web.restart contains an invalid type, it should be a string", "version 2"),
        ("services.web.environment.A contains true, which is an invalid type", "version 2"),
        ("Cannot extend service 'a': services with 'depends_on' cannot be extended", "version 2"),
        ("Service 'web' depends on service 'db' which is undefined.", "given together"),
        ("build path /srv/shop/links either does not exist", "make this directory"),
        ("Couldn't find env file: /srv/shop/web.env", "make this file"),
        (
            "Missing mandatory value for \"build\" option: TAG=${TAG:?no .env file, see README}",
            ".env.example",
        ),
        ("Invalid interpolation format for \"command\": \"$(date)\"", ".env.example"),
        ("FileNotFoundError: [Errno 2] No such file or directory: '/srv/shop/a.yml'", "path right"),
        ("mapping values are not allowed here", ""),
    ] {
        let found = hint("docker-compose config", said);
        assert!(
            found.contains(expected) && found.is_empty() == expected.is_empty(),
            "{said}: {found}"
        );
    }
    for (said, expected) in [
        (
            "Head \"http://127.0.0.1:5000/v2/a/manifests/1\": no basic auth credentials",
            "docker login",
        ),
        ("manifest for a:2 not found: manifest unknown: manifest unknown", "no such image or tag"),
        ("unexpected EOF", "broke off"),
        ("toomanyrequests: You have reached your pull rate limit", "or wait"),
        ("dial tcp 127.0.0.1:1: connect: connection refused", "is it up?"),
    ] {
        let found = hint("docker pull --quiet", said);
        assert!(found.contains(expected), "{said}: {found}");
    }
    let podman = hint("podman pull", "Error: unauthorized: access is denied");
    assert!(podman.contains("`podman login`"), "{podman}");
    assert!(
        hint("podman build", "Error: short-name \"a/b\" did not resolve").contains("docker.io/")
    );
    // What an app says while its image is built is no matter of a registry.
    let built = "RUN curl http://127.0.0.1: connect: connection refused";
    assert_eq!(hint("docker-compose build", built), "");
    let here = "Error: dockerfile parse error line 10: unknown instruction: APT-GET";
    assert!(hint("docker-compose build", here).contains("docker-buildx-plugin"));
    let version_2 = hint("docker compose config", "unsupported option: 'name'");
    assert_eq!(version_2, "", "which version would know it?");
}

#[test]
fn an_error_of_the_engine_names_the_client_that_was_used() {
    let silent = |client| {
        let said = "no answer".to_owned();
        let error = ComposeError::EngineSilent { client, said, other: None };
        (error.to_string(), error.hint().unwrap_or_default())
    };
    assert!(silent("docker").1.contains("systemctl start docker"));
    let (words, fix) = silent("podman");
    assert!(words.contains("`podman` says") && fix.contains("`podman info`"), "{words}; {fix}");
    let tool = |client| ComposeError::NoTool { client }.hint().unwrap_or_default();
    assert!(tool("docker").contains("docker-compose"));
    assert_eq!(tool("podman"), "install `podman-compose`");
}

#[test]
fn an_engine_that_is_not_used_and_a_tag_that_is_not_read_have_a_hint() {
    let said = "no answer".to_owned();
    let silent = ComposeError::EngineSilent { client: "docker", said, other: Some("podman") };
    assert!(silent.hint().unwrap_or_default().contains("`STAMPEDE_ENGINE=podman`"));
    let other = ComposeError::OtherArchitecture {
        service: "web".to_owned(),
        image: "a:1".to_owned(),
        of_image: "arm64".to_owned(),
        of_machine: "amd64".to_owned(),
        client: "podman",
    };
    assert!(other.hint().unwrap_or_default().contains("`podman pull --platform linux/amd64 a:1`"));
    let undeclared = ComposeError::Undeclared {
        service: "web".to_owned(),
        kind: "secret",
        name: "key".to_owned(),
        example: None,
    };
    assert!(undeclared.hint().unwrap_or_default().contains("declare it"));
}

#[test]
fn what_is_no_path_of_a_compose_file_is_told_from_a_missing_one() {
    let hint = |file: &str| {
        let others = vec!["compose.yml".into()];
        let error = ComposeError::NoFile { file: file.into(), is_directory: false, others };
        error.hint().expect("a hint")
    };
    assert!(hint("https").contains("git clone"), "{}", hint("https"));
    assert!(hint("a/compose.yml,b.yml").contains("once for each project"));
    assert_eq!(hint("none.yml"), "there is `--compose compose.yml`");
}
