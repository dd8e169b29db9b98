//! Reads whether runtimes consist of programs of this machine or of container images.

use std::collections::BTreeMap;
use std::path::Path;

use super::error::{Help, Mistake, PlanError};
use super::flags::{Flags, Overrides};
use super::read::written;
use super::tree::{Node, Value};
use super::value::{entries, name_of, not_a, text};

/// The key, the same at the top of a plan and of a runtime.
pub(super) const IMAGES: &str = "images";
/// Values of the key besides a map: the images that the runtime's directory names, or none.
pub(super) const WORDS: [&str; 2] = ["official", "off"];

const EXPECTED: &str =
    "`images: official`, or an image for each role: `images: {php: \"php:8.4-fpm\"}`";
const IMAGE: &str = "an image's name, such as `php:8.4-fpm` or `php:{php}-fpm`";
/// Longest name of an image.
const LENGTH_MAX: usize = 512;

/// The images of a row by role. `None`: it consists of programs of this machine.
pub(super) type Images = Option<BTreeMap<String, String>>;

/// Reads `official`, `off` or a map of roles to images. A role that is not in the map has its
/// official image.
pub(super) fn images(node: &Node) -> Result<Images, PlanError> {
    match &node.value {
        Value::Map(_) => {}
        Value::Text(..) => {
            return Ok(
                (name_of(node, "choice of images", &WORDS)? == "official").then(BTreeMap::new)
            );
        }
        _ => return Err(not_a(node, "a choice of images", EXPECTED)),
    }
    let image = |(role, image): &(Node, Node)| {
        let role = text(role, "a role", EXPECTED)?.to_owned();
        let name = text(image, "an image", IMAGE)?;
        match is_image(name) {
            true => Ok((role, name.to_owned())),
            false => Err(not_a(image, "an image's name", IMAGE)),
        }
    };
    entries(node, EXPECTED)?.iter().map(image).collect::<Result<_, _>>().map(Some)
}

/// Whether an image of the row names the version of PHP itself: `php:8.4-fpm`, and not `php:{php}-fpm`.
pub(super) fn names_php(images: Option<&BTreeMap<String, String>>) -> bool {
    images.and_then(|by_role| by_role.get("php")).is_some_and(|image| !image.contains("{php}"))
}

/// Whether the plan at `path`, or a flag, asks for official images on all runtimes.
///
/// # Errors
/// As [`read`].
pub fn has_images(path: Option<&Path>, flags: &Overrides) -> Result<bool, PlanError> {
    let asked = Overrides { images: flags.images.clone(), ..Overrides::default() };
    let flags = Flags::new(&asked);
    let (_, root) = written(path, &flags)?;
    let node = flags.get(IMAGES).or(root.get(IMAGES));
    Ok(node.map_or(Ok(None), images)?.is_some())
}

/// Refuses images for a row that is set up as this machine is.
pub(super) fn none_of_today(node: Option<&Node>) -> Result<(), PlanError> {
    node.map_or(Ok(()), |node| {
        let todo = Help::todo("remove it: `today` has the programs of this machine");
        Err(node.place.wrong(Mistake::OfToday(IMAGES), todo))
    })
}

/// Whether a text can be a name of an image, with `{php}` for the version of PHP. A name that begins
/// with `-` would be an option of the engine's client.
fn is_image(name: &str) -> bool {
    let plain = name.replace("{php}", "8");
    let is_part = |c: char| c.is_ascii_alphanumeric() || "._-/:@".contains(c);
    plain.len() <= LENGTH_MAX
        && plain.starts_with(|c: char| c.is_ascii_alphanumeric())
        && plain.chars().all(is_part)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::{plan, read_text};

    #[test]
    fn names_of_images_are_told_from_options_and_sentences() {
        for fine in [
            "nginx",
            "php:8.4-fpm",
            "php:{php}-fpm",
            "ghcr.io/a/b_c:1@sha256:ab",
            "127.0.0.1:5000/x",
        ] {
            assert!(is_image(fine), "{fine}");
        }
        for wrong in ["", "-v", "--privileged", "a b", "{x}", "a;b", "a$b", "café", "{php"] {
            assert!(!is_image(wrong), "{wrong}");
        }
    }

    #[test]
    fn a_runtimes_own_choice_of_images_wins_over_the_plans() {
        let rows = |top: &str, runtimes: &str| {
            let text =
                format!("{top}\napp: hello\nruntimes: [{runtimes}]\nload: [\"const(5,1s)\"]");
            let plan = plan(&text);
            let shown = |images: &Images| match images {
                None => "none".to_owned(),
                Some(by_role) => format!("{by_role:?}"),
            };
            let row = |one: &crate::model::RuntimeChoice| shown(&one.images);
            plan.stack.runtimes.iter().map(row).collect::<Vec<String>>()
        };
        let own = "nginx-fpm, {a: {use: nginx-fpm, images: {php: \"php:{php}-fpm\"}}}, {b: {use: nginx-fpm, images: off}}";
        assert_eq!(rows("", own), ["none", "{\"php\": \"php:{php}-fpm\"}", "none"]);
        assert_eq!(rows("images: official", own)[..1], ["{}"]);
        assert_eq!(rows("images: official", own)[2], "none");
        assert_eq!(rows("images: official", "today"), ["none"]);
        for wrong in ["yes", "[a]", "{php: [a]}", "{php: \"--rm\"}", "{php: }"] {
            let text = format!(
                "app: hello\nruntimes: [{{nginx-fpm: {{images: {wrong}}}}}]\nload: [\"const(5,1s)\"]"
            );
            read_text(&text, &Overrides::default()).expect_err(wrong);
        }
        let text = "app: hello\nruntimes: [{today: {images: official}}]\nload: [\"const(5,1s)\"]";
        let error = read_text(text, &Overrides::default()).expect_err("it is this machine's");
        assert!(error.to_string().contains("cannot be set for `today`"), "{error}");
        let flags = Overrides { images: Some("official".to_owned()), ..Overrides::default() };
        let text = "app: hello\nruntimes: [nginx-fpm]\nload: [\"const(5,1s)\"]";
        let plan = read_text(text, &flags).expect("a plan");
        assert_eq!(plan.stack.runtimes[0].images, Some(BTreeMap::new()));
    }

    /// As in a plan that sweeps versions and has a row of one image beside it.
    #[test]
    fn a_row_whose_image_names_its_php_is_not_multiplied_by_the_plans_versions() {
        let own = "{a: {use: nginx-fpm, images: {php: \"php:{php}-fpm\"}}}, {b: {use: nginx-fpm, images: {web: \"nginx:1\", php: \"php:8.4-fpm\"}}}";
        let text =
            format!("app: hello\nphp: [8.2, 8.4]\nruntimes: [{own}]\nload: [\"const(5,1s)\"]");
        let rows: Vec<String> =
            plan(&text).stack.runtimes.iter().map(|one| one.name.clone()).collect();
        assert_eq!(rows, ["a php=8.2", "a php=8.4", "b"]);
    }
}
