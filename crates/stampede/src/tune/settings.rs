//! Parses the settings to try: `workers=2..64`, `pm=static,ondemand`.

use std::collections::BTreeMap;

use stampede_stats::best::{Axis, Value};

use stampede_plan::model::{RuntimeChoice, RuntimeSource, Scalar};

/// A setting and the values to try.
#[derive(Clone, Debug, PartialEq)]
pub struct Setting {
    /// Its name.
    pub name: String,
    /// The text as the user wrote it.
    pub text: String,
    /// The values to try.
    pub range: Range,
}

/// The values that a setting may have.
#[derive(Clone, Debug, PartialEq)]
pub enum Range {
    /// Whole numbers, including both ends.
    Numbers(u32, u32),
    /// One of these words.
    Words(Vec<String>),
}

/// A `--set` that cannot be tried.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`--set {text}` {mistake}")]
pub struct SettingError {
    /// The text as the user wrote it.
    pub text: String,
    /// What is wrong with it.
    pub mistake: SettingMistake,
}

/// What is wrong with a `--set`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SettingMistake {
    /// `=` is missing.
    #[error("has no values")]
    NoValues,
    /// An end is not a whole number of 1 or more, or the first is not the smaller one.
    #[error("is not a range of whole numbers, the smaller first")]
    Range,
    /// There is only one value, an empty one, or one value twice.
    #[error("does not name two values or more, each once")]
    Values,
}

impl Setting {
    /// Parses one setting.
    ///
    /// # Errors
    /// The text has no values that can be tried.
    pub fn read(text: &str) -> Result<Setting, SettingError> {
        let wrong = |mistake| Err(SettingError { text: text.to_owned(), mistake });
        let Some((name, range)) = text.split_once('=') else {
            return wrong(SettingMistake::NoValues);
        };
        let (name, range) = (name.trim().to_owned(), range.trim());
        let setting = |range| Ok(Setting { name, text: text.to_owned(), range });
        if let Some((from, to)) = range.split_once("..") {
            return match (from.trim().parse::<u32>(), to.trim().parse::<u32>()) {
                (Ok(from), Ok(to)) if from >= 1 && from < to => setting(Range::Numbers(from, to)),
                _ => wrong(SettingMistake::Range),
            };
        }
        let words: Vec<String> = range.split(',').map(|word| word.trim().to_owned()).collect();
        let twice = (1..words.len()).any(|place| words[..place].contains(&words[place]));
        match words.iter().any(String::is_empty) || twice || words.len() < 2 {
            true => wrong(SettingMistake::Values),
            false => setting(Range::Words(words)),
        }
    }

    /// Returns the axis for the search.
    pub fn axis(&self) -> Axis {
        match &self.range {
            Range::Numbers(from, to) => Axis::Numbers(*from, *to),
            Range::Words(words) => Axis::Words(words.len()),
        }
    }

    /// Returns the value that is tried first.
    pub fn least(&self) -> Value {
        match &self.range {
            Range::Numbers(from, _) => *from,
            Range::Words(_) => 0,
        }
    }

    /// Returns values that show whether the runtime accepts all values.
    pub fn ends(&self) -> Vec<Value> {
        match &self.range {
            Range::Numbers(from, to) => vec![*from, *to],
            Range::Words(words) => (0..words.len() as u32).collect(),
        }
    }

    /// Returns the text of a value.
    pub fn value(&self, value: Value) -> String {
        match &self.range {
            Range::Numbers(..) => value.to_string(),
            Range::Words(words) => words[value as usize].clone(),
        }
    }

    /// Returns whether `value` is the highest number of the range, so that higher ones were not
    /// tried.
    pub fn is_at_end(&self, value: Value) -> bool {
        matches!(self.range, Range::Numbers(_, to) if to == value)
    }
}

/// Returns setting → value as text.
pub fn named(settings: &[Setting], at: &[Value]) -> BTreeMap<String, String> {
    let each = settings.iter().zip(at);
    each.map(|(setting, value)| (setting.name.clone(), setting.value(*value))).collect()
}

/// Returns the runtime with these values, under a name of its own: `nginx-fpm workers=11`.
pub fn variant(choice: &RuntimeChoice, settings: &[Setting], at: &[Value]) -> RuntimeChoice {
    let mut variant = choice.clone();
    for (setting, value) in settings.iter().zip(at) {
        let text = setting.value(*value);
        variant.name += &format!(" {}={text}", setting.name);
        match variant.source {
            // A project has no settings of ours. Its images read variables.
            RuntimeSource::Compose(_) => {
                variant.env.insert(setting.name.clone(), text);
            }
            _ => {
                variant.settings.insert(setting.name.clone(), scalar(&text));
            }
        }
    }
    variant
}

/// Returns the value as a plan would parse it.
fn scalar(text: &str) -> Scalar {
    match text {
        "true" | "on" => Scalar::Bool(true),
        "false" | "off" => Scalar::Bool(false),
        text => text.parse().map_or_else(|_| Scalar::Text(text.to_owned()), Scalar::Int),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_and_words_are_parsed() {
        let read = |text| Setting::read(text).map(|setting| (setting.name, setting.range));
        let words = |words: &[&str]| Range::Words(words.iter().map(|w| (*w).to_owned()).collect());
        assert_eq!(read("workers=2..64"), Ok(("workers".to_owned(), Range::Numbers(2, 64))));
        assert_eq!(
            read("pm=static,ondemand"),
            Ok(("pm".to_owned(), words(&["static", "ondemand"])))
        );
        for wrong in ["workers", "workers=8", "workers=64..2", "workers=a..b", "pm=a,a", "pm=a,"] {
            assert!(read(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_variant_has_its_settings() {
        let choice = RuntimeChoice {
            name: "nginx-fpm".to_owned(),
            source: stampede_plan::model::RuntimeSource::Catalogue("nginx-fpm".to_owned()),
            settings: BTreeMap::new(),
            php_ini: BTreeMap::new(),
            env: BTreeMap::new(),
            images: None,
            as_today: None,
        };
        let settings =
            ["workers=2..64", "pm=static,ondemand"].map(|text| Setting::read(text).unwrap());
        let variant = variant(&choice, &settings, &[11, 1]);
        assert_eq!(variant.name, "nginx-fpm workers=11 pm=ondemand");
        assert_eq!(variant.settings["workers"], Scalar::Int(11));
        assert_eq!(variant.settings["pm"], Scalar::Text("ondemand".to_owned()));
    }
}
