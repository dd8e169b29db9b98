//! Values of php.ini as text.

/// Why php.ini cannot have a value.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum IniTextError {
    /// It has a control character, such as a line break.
    #[error("php.ini cannot have the value `{}`: it has a control character", value.escape_debug())]
    Control {
        /// The value.
        value: String,
    },
    /// It has both `${` and a single quote, and no quotes make both literal.
    #[error("php.ini cannot have the value `{}`: it has both `${{` and `'`", value.escape_debug())]
    BothQuotes {
        /// The value.
        value: String,
    },
}

/// Whether a value is an expression of PHP's constants: `E_ALL & ~E_DEPRECATED`. In quotes it would be a text.
fn is_expression(value: &str) -> bool {
    let mut words = value.split(|c: char| " &|^~()".contains(c)).filter(|word| !word.is_empty());
    let is_constant = |word: &str| {
        word.starts_with("E_") && word.bytes().all(|b| b.is_ascii_uppercase() || b == b'_')
            || word.bytes().all(|b| b.is_ascii_digit())
    };
    value.contains("E_") && words.all(is_constant)
}

/// A value of php.ini as the file has it. It is quoted unless it is a plain word, so that `;`, `=` and `!` are taken
/// literally. Within double quotes `${NAME}` is a variable, and within single quotes nothing is special, not
/// even a backslash.
///
/// # Errors
/// See [`IniTextError`].
pub fn ini_text(value: &str) -> Result<String, IniTextError> {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"._:/-,".contains(&byte);
    match () {
        () if value.bytes().all(plain) || is_expression(value) => Ok(value.into()),
        () if value.contains(char::is_control) => {
            Err(IniTextError::Control { value: value.into() })
        }
        () if !value.contains("${") => {
            Ok(format!("\"{}\"", value.replace('\\', "\\\\").replace('"', "\\\"")))
        }
        () if value.contains('\'') => Err(IniTextError::BothQuotes { value: value.into() }),
        () => Ok(format!("'{value}'")),
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn ini_values_are_quoted() {
        let ini = |value: &str| super::ini_text(value).ok();
        let is = |value: &str, text: &str| assert_eq!(ini(value).as_deref(), Some(text), "{value}");
        is("256M", "256M");
        is("a;b", "\"a;b\"");
        is("E_ALL & ~E_DEPRECATED & ~(E_STRICT|8)", "E_ALL & ~E_DEPRECATED & ~(E_STRICT|8)");
        is("E_ALL; x", "\"E_ALL; x\"");
        is("PE_ALL & 1", "\"PE_ALL & 1\"");
        is("say \"x\"", "\"say \\\"x\\\"\"");
        is("", "");
        is("a$b", "\"a$b\"");
        is("${HOME}\\x \"y\"", "'${HOME}\\x \"y\"'");
        assert_eq!([ini("a\nb=c"), ini("it's ${HOME}"), ini("\0")], [None, None, None]);
    }
}
