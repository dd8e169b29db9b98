//! The forms in which a mount is written: `SOURCE:TARGET[:MODE]`, which has no word for a path with a colon, and the
//! long one, of which each compose tool makes something else.

use serde_json::{Map, Value, json};

use crate::edit::Mount;
use crate::engine::mount_of;
use crate::variables::plain;

/// The parts of a mount in the short form.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ShortMount<'a> {
    /// The path of the machine, or the volume's key; `None`: an anonymous volume.
    pub source: Option<&'a str>,
    /// The path inside the container.
    pub target: &'a str,
    /// Words behind commas: `ro`, `z`, `rslave`, `cached`; may be empty.
    pub mode: &'a str,
}

impl ShortMount<'_> {
    /// `None`: it has more parts than the form, which the tools refuse.
    pub fn of(text: &str) -> Option<ShortMount<'_>> {
        match parts(text).as_slice() {
            [target] => Some(ShortMount { source: None, target, mode: "" }),
            [source, target] => Some(ShortMount { source: Some(source), target, mode: "" }),
            [source, target, mode] => Some(ShortMount { source: Some(source), target, mode }),
            _ => None,
        }
    }

    /// The word that says how mounts below it reach the container and back.
    pub fn propagation(self) -> Option<String> {
        let all = ["shared", "slave", "private", "rshared", "rslave", "rprivate"];
        self.mode.split(',').find(|word| all.contains(word)).map(str::to_owned)
    }

    /// The word that asks SELinux to label the files.
    pub fn label(self) -> Option<String> {
        self.mode.split(',').find(|word| ["z", "Z"].contains(word)).map(str::to_owned)
    }
}

/// What stands between the colons. That of `${NAME:-default}` is none, nor that of a drive (`C:\shop`).
fn parts(text: &str) -> Vec<&str> {
    let (mut all, mut begin, mut depth) = (Vec::new(), 0, 0_u32);
    for (at, sign) in text.char_indices() {
        let part = &text[begin..at];
        let is_drive = || {
            part.len() == 1
                && part.starts_with(|c: char| c.is_ascii_alphabetic())
                && text[at + 1..].starts_with('\\')
        };
        match sign {
            '{' if depth > 0 || part.ends_with('$') => depth += 1,
            '}' => depth = depth.saturating_sub(1),
            ':' if depth == 0 && !is_drive() => {
                all.push(part);
                begin = at + 1;
            }
            _ => {}
        }
    }
    all.push(&text[begin..]);
    all
}

/// Whether the short form can say a path.
pub(crate) fn fits_short(path: &str) -> bool {
    !path.contains(':')
}

/// Lets Docker's compose tool mount paths with a colon as they are. Of a long form that may create its path, and of
/// one with a label, version 2 makes the short one again; version 1 knows neither word.
pub(crate) fn keep_long(document: &mut Value, is_version_1: bool) {
    let services = document.get_mut("services").and_then(Value::as_object_mut);
    for (_, service) in services.into_iter().flatten() {
        let mounts = service.get_mut("volumes").and_then(Value::as_array_mut);
        for mount in mounts.into_iter().flatten().filter_map(Value::as_object_mut) {
            let fits = |key: &str| mount.get(key).and_then(Value::as_str).is_none_or(fits_short);
            if mount.get("type") != Some(&json!("bind")) || fits("source") && fits("target") {
                continue;
            }
            let mut options = mount.remove("bind").unwrap_or_else(|| json!({}));
            if let Value::Object(options) = &mut options {
                options.remove("selinux");
                options.remove("create_host_path");
                if !is_version_1 {
                    options.insert("create_host_path".to_owned(), json!(false));
                }
            }
            mount.insert("bind".to_owned(), options);
        }
    }
}

/// Takes those mounts of paths out of a service that podman-compose cannot write: it neither quotes nor knows which
/// colon is part of a path. Returns an option of `podman run` for each.
pub(crate) fn options_of_strange(service: &mut Map<String, Value>) -> Vec<String> {
    let mut options = Vec::new();
    if let Some(Value::Array(mounts)) = service.get_mut("volumes") {
        mounts.retain(|mount| {
            let option = Mount::of(mount).and_then(|found| option_of_strange(&found));
            options.extend(option.clone());
            option.is_none()
        });
    }
    options
}

fn option_of_strange(mount: &Mount) -> Option<String> {
    let source = mount.bind_source()?;
    if !format!("{source}{}", mount.target).contains([':', ',', '"']) {
        return None;
    }
    let (long, target) = (mount.long(source, mount.is_read_only), plain(&mount.target));
    let mut option = mount_of(plain(source).as_ref(), target.as_ref());
    if mount.is_read_only {
        option += ",ro";
    }
    let of_bind = |key: &str| long.get("bind").and_then(|all| all[key].as_str());
    option +=
        &of_bind("propagation").map(|how| format!(",bind-propagation={how}")).unwrap_or_default();
    option += match of_bind("selinux") {
        Some("z") => ",relabel=shared",
        Some("Z") => ",relabel=private",
        _ => "",
    };
    Some(format!("--mount={option}"))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::variables::doubled;

    fn bind(source: &str, target: &str) -> Value {
        json!({"type": "bind", "source": source, "target": target})
    }

    #[test]
    fn the_short_form_is_read_as_the_tools_read_it() {
        let of = |text| ShortMount::of(text).map(|it| (it.source, it.target, it.mode));
        assert_eq!(of("/data"), Some((None, "/data", "")));
        assert_eq!(of("data:/data:nocopy"), Some((Some("data"), "/data", "nocopy")));
        assert_eq!(of("./a:/b:ro,z,rslave"), Some((Some("./a"), "/b", "ro,z,rslave")));
        assert_eq!(of("${DATA:-./data}:/data"), Some((Some("${DATA:-./data}"), "/data", "")));
        assert_eq!(of("${A:-${B:-x}}:/d:ro"), Some((Some("${A:-${B:-x}}"), "/d", "ro")));
        assert_eq!(of(r"C:\shop:/app:ro"), Some((Some(r"C:\shop"), "/app", "ro")));
        assert_eq!(of("c:/data"), Some((Some("c"), "/data", "")));
        assert_eq!(of("/a:b:/c:ro"), None);
        let words = |mode| {
            let short = ShortMount { source: None, target: "/a", mode };
            (short.label(), short.propagation())
        };
        assert_eq!(
            words("ro,Z,cached,rshared"),
            (Some("Z".to_owned()), Some("rshared".to_owned()))
        );
        assert_eq!(words("rw,delegated"), (None, None));
    }

    #[test]
    fn a_path_with_a_colon_stays_in_the_long_form_of_each_version() {
        let labelled = json!({"type": "bind", "source": "/a:b", "target": "/c", "bind": {"selinux": "z", "propagation": "rslave"}});
        let created = json!({"type": "bind", "source": "/a", "target": "/c:d", "bind": {"create_host_path": true}});
        let usual = json!({"type": "bind", "source": "/a", "target": "/b", "bind": {"create_host_path": true}});
        let volume = json!({"type": "volume", "source": "data", "target": "/d:e"});
        let given = json!([labelled, created, usual, volume, "data:/data", bind("/x:y", "/z")]);
        let of = |is_version_1| {
            let mut document = json!({"services": {"web": {"volumes": given}, "db": {}}});
            keep_long(&mut document, is_version_1);
            document["services"]["web"]["volumes"].clone()
        };
        let bound = |number: usize, options: Value| {
            let mut one = given[number].clone();
            one["bind"] = options;
            one
        };
        assert_eq!(
            of(false),
            json!([
                bound(0, json!({"propagation": "rslave", "create_host_path": false})),
                bound(1, json!({"create_host_path": false})),
                usual,
                volume,
                "data:/data",
                bound(5, json!({"create_host_path": false})),
            ])
        );
        let first = [bound(0, json!({"propagation": "rslave"})), bound(1, json!({}))];
        assert_eq!(
            of(true),
            json!([first[0], first[1], usual, volume, "data:/data", bound(5, json!({}))])
        );
    }

    #[test]
    fn what_podman_compose_cannot_write_is_an_option_of_podman() {
        let mut service = Map::from_iter([(
            "volumes".to_owned(),
            json!([
                "data:/data:ro", "/srv/shop:/app:ro,z", "/srv/a,b:/app2:ro,Z",
                {"type": "bind", "source": "/srv/a:b/5$$", "target": "/c", "bind": {"propagation": "rslave", "selinux": "z"}},
                {"type": "bind", "source": "/srv/\"q\"", "target": "/q", "read_only": true},
                {"type": "tmpfs", "target": "/t:u"},
            ]),
        )]);
        assert_eq!(
            options_of_strange(&mut service),
            [
                "--mount=type=bind,\"source=/srv/a,b\",target=/app2,ro,relabel=private",
                "--mount=type=bind,source=/srv/a:b/5$,target=/c,bind-propagation=rslave,relabel=shared",
                "--mount=type=bind,\"source=/srv/\"\"q\"\"\",target=/q,ro",
            ]
        );
        let left =
            json!(["data:/data:ro", "/srv/shop:/app:ro,z", {"type": "tmpfs", "target": "/t:u"}]);
        assert_eq!(service["volumes"], left);
    }

    /// A line of CSV as its fields.
    fn fields(line: &str) -> Vec<String> {
        let (mut all, mut field, mut is_quoted) = (Vec::new(), String::new(), false);
        let mut signs = line.chars().peekable();
        while let Some(sign) = signs.next() {
            match sign {
                '"' if is_quoted && signs.peek() == Some(&'"') => field.extend(signs.next()),
                '"' => is_quoted = !is_quoted,
                ',' if !is_quoted => all.push(std::mem::take(&mut field)),
                other => field.push(other),
            }
        }
        all.push(field);
        all
    }

    proptest! {
        /// Whatever is in a path, the copy of it is mounted where the original was.
        #[test]
        fn any_path_can_be_mounted(
            source in "/[a-c:,\"'$ é\\\\]{0,9}", target in "/[a-c,\"' ]{0,9}", mode in "(ro|rw|ro,z|Z|rslave|cached)?",
        ) {
            let short = json!(format!("/old:{}:{mode}", doubled(&target)));
            let found = Mount::of(&short).expect("a mount");
            let bound = found.bound(&doubled(&source), found.is_read_only);
            prop_assert!(source.contains(':') <= bound.is_object(), "{bound}");
            let again = Mount::of(&bound).expect("a mount");
            prop_assert_eq!(again.bind_source().map(plain), Some(source.clone()));
            prop_assert_eq!(plain(&again.target), target.clone());
            prop_assert_eq!(again.is_read_only, found.is_read_only);
            let mut service = Map::from_iter([("volumes".to_owned(), json!([bound]))]);
            let options = options_of_strange(&mut service);
            match options.as_slice() {
                [] => prop_assert!(!(source + &target).contains([':', ',', '"'])),
                [option] => {
                    let option = option.strip_prefix("--mount=").expect("a mount");
                    let said = fields(option);
                    prop_assert_eq!(said[1].clone(), format!("source={source}"));
                    prop_assert_eq!(said[2].clone(), format!("target={target}"));
                    prop_assert_eq!(said.contains(&"ro".to_owned()), found.is_read_only);
                }
                more => prop_assert!(false, "{more:?}"),
            }
        }
    }
}
