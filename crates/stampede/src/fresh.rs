//! Names that nobody can guess, for what is made in a directory that others may write to, such as
//! `/tmp`.
//!
//! A directory of ours is made by the call that fails where the name is taken: what is there
//! already, be it a directory, a file or a link, was made by somebody else and is never used.

/// 128 bits of the system's own random numbers, as 32 hex digits.
///
/// # Panics
/// The system gives none: no name would be safe.
pub fn token() -> String {
    let mut bytes = [0; 16];
    let filled = rustix::rand::getrandom(&mut bytes, rustix::rand::GetRandomFlags::empty());
    assert_eq!(filled, Ok(bytes.len()), "the system gives random bytes");
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// What `make` makes under a name of `names`, the first that is not taken.
///
/// # Errors
/// The first error that is another, and the last where every try found the name taken.
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

/// None is taken by chance: whoever takes two in a row takes them all.
const TRIES: u32 = 8;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_has_128_bits_and_comes_once() {
        let (one, other) = (token(), token());
        assert!(one.len() == 32 && one.bytes().all(|byte| byte.is_ascii_hexdigit()), "{one}");
        assert_ne!(one, other);
    }

    #[test]
    fn a_taken_name_is_passed_over_and_not_for_ever() {
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
