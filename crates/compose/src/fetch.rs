//! Fetches images, and refuses those that this machine does not run itself.

use crate::engine::Engine;
use crate::error::ComposeError;
use crate::news::{LongWork, told};

/// Fetches an image that is not here yet.
///
/// # Errors
/// The engine cannot fetch it.
pub fn fetch_image(engine: &Engine, image: &str) -> Result<(), ComposeError> {
    if engine.command(&["image", "inspect", image]).run().is_err() {
        // The first words are the name of the command in messages.
        told(LongWork::Fetch { image }, || engine.run(&["pull", image, "--quiet"]))?;
    }
    Ok(())
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
    fn a_machine_runs_images_of_its_own_kind() {
        assert!(runs_on("amd64", "amd64") && runs_on("amd64", "386"));
        assert!(!runs_on("amd64", "arm64"));
    }
}
