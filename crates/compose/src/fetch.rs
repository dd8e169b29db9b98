//! Fetches images, and refuses those that this machine does not run itself.

use std::collections::BTreeMap;

use crate::engine::Engine;
use crate::error::ComposeError;
use crate::news::{LongWork, told};
use crate::project::Project;

/// Fetches the images of a project that are not here yet, so that no trial waits for a registry. `built`:
/// those of services that are built.
///
/// # Errors
/// A service has no image, the engine cannot fetch one, or it is for another architecture.
pub fn fetch_images(
    engine: &Engine,
    project: &Project,
    built: &BTreeMap<String, String>,
) -> Result<(), ComposeError> {
    for (name, service) in project.services().filter(|(name, _)| !built.contains_key(*name)) {
        let none = || ComposeError::NoImage { service: name.to_owned() };
        fetch_image(engine, service["image"].as_str().ok_or_else(none)?)?;
    }
    project.services().try_for_each(|(name, service)| {
        let own = built.get(name).map(String::as_str).or_else(|| service["image"].as_str());
        check_architecture(engine, name, own.unwrap_or_default())
    })
}

/// Fetches an image that is not here yet.
///
/// # Errors
/// The engine cannot fetch it.
pub fn fetch_image(engine: &Engine, image: &str) -> Result<(), ComposeError> {
    if engine.command(&["image", "inspect", image]).run().is_err() {
        // The first words are the name of the command in messages.
        let pull = |image: &str| engine.run(&["pull", image, "--quiet"]);
        told(LongWork::Fetch { image }, || match pull(image) {
            Err(ComposeError::Tool { said, .. }) if said.contains(SHORT_NAME) => {
                pull(&of_docker_hub(image))
            }
            other => other,
        })?;
    }
    Ok(())
}

/// What Podman says where nobody has told it which registry a name without one means.
const SHORT_NAME: &str = "short-name";

/// The image as everybody else means it.
fn of_docker_hub(image: &str) -> String {
    match image.contains('/') {
        true => format!("docker.io/{image}"),
        false => format!("docker.io/library/{image}"),
    }
}

/// Refuses the image of a service for another architecture: the engine would run it in an emulator, if at
/// all.
///
/// # Errors
/// It is for another one, or the engine does not know it.
pub fn check_architecture(engine: &Engine, service: &str, image: &str) -> Result<(), ComposeError> {
    let words = ["image", "inspect", "--format", "{{.Architecture}}", image];
    let found = engine.run(&words)?;
    let of_image = found.trim();
    if !of_image.is_empty() && !runs_on(&engine.architecture, of_image) {
        return Err(ComposeError::OtherArchitecture {
            service: service.to_owned(),
            image: image.to_owned(),
            of_image: of_image.to_owned(),
            of_machine: engine.architecture.clone(),
            client: engine.client.program(),
        });
    }
    Ok(())
}

/// Whether a machine runs an image's programs itself.
fn runs_on(machine: &str, image: &str) -> bool {
    machine == image || matches!((machine, image), ("amd64", "386") | ("arm64", "arm"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_image_without_a_registry_is_of_docker_hub() {
        assert_eq!(of_docker_hub("php:8.4-fpm"), "docker.io/library/php:8.4-fpm");
        assert_eq!(of_docker_hub("dunglas/frankenphp"), "docker.io/dunglas/frankenphp");
    }

    #[test]
    fn a_machine_runs_images_of_its_own_kind() {
        assert!(runs_on("amd64", "amd64") && runs_on("amd64", "386"));
        assert!(!runs_on("amd64", "arm64"));
    }
}
