//! Makes names that nobody can guess. They are needed for files and directories inside a directory
//! that others may write to, such as `/tmp`.
//!
//! We create each directory with a call that fails if the name exists. An existing directory, file
//! or link was made by somebody else, and we never use it.

/// Returns 128 bits from the system's random number generator, as 32 hex digits.
///
/// # Panics
/// The system gives no random bytes. Without them no name would be safe.
pub fn token() -> String {
    let mut bytes = [0; 16];
    let filled = rustix::rand::getrandom(&mut bytes, rustix::rand::GetRandomFlags::empty());
    assert_eq!(filled, Ok(bytes.len()), "the system gives random bytes");
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Calls `make` with one name of `names` after the other, until a name is free, and returns what it
/// made.
///
/// # Errors
/// The first error that does not mean "name taken". If every try found its name taken: the last
/// error.
pub fn under_a_free_name<T, E>(
    mut names: impl FnMut() -> String,
    mut make: impl FnMut(&str) -> Result<T, E>,
    is_taken: impl Fn(&E) -> bool,
) -> Result<T, E> {
    let mut made = make(&names());
    for _ in 1..TRIES {
        match &made {
            Err(error) if is_taken(error) => made = make(&names()),
            _ => break,
        }
    }
    made
}

/// A name is never taken by chance. Somebody who took two in a row can take them all.
const TRIES: u32 = 8;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_has_128_bits_and_is_unique() {
        let (one, other) = (token(), token());
        assert!(one.len() == 32 && one.bytes().all(|byte| byte.is_ascii_hexdigit()), "{one}");
        assert_ne!(one, other);
    }

    #[test]
    fn taken_names_are_skipped_a_limited_number_of_times() {
        let mut number = 0;
        let mut names = || {
            number += 1;
            number.to_string()
        };
        let make = |name: &str| if name == "3" { Ok(name.to_owned()) } else { Err("taken") };
        assert_eq!(
            under_a_free_name(&mut names, make, |error| *error == "taken"),
            Ok("3".to_owned())
        );
        let never = |_: &str| Err::<(), _>("taken");
        assert_eq!(under_a_free_name(&mut names, never, |error| *error == "taken"), Err("taken"));
        assert_eq!(names(), (3 + TRIES + 1).to_string());
        let broken = |_: &str| Err::<(), _>("broken");
        assert_eq!(under_a_free_name(&mut names, broken, |error| *error == "taken"), Err("broken"));
        assert_eq!(names(), (3 + TRIES + 3).to_string(), "another error is not tried again");
    }
}
