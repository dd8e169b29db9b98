//! Reads the forms of a page, with the values that a browser would send.

use html5gum::{DefaultEmitter, Token, Tokenizer};

/// A form.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Form {
    /// Where the form is sent; `None`: to the page itself.
    pub action: Option<String>,
    /// How the form is sent.
    pub method: FormMethod,
    /// What is sent, in the order of the page.
    pub fields: Vec<FormField>,
    /// The names of what is not sent unless a person chooses it: boxes that are not ticked, other
    /// buttons.
    pub unsent: Vec<String>,
    /// Whether the form asks for a password.
    pub has_password: bool,
}

/// How a form is sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FormMethod {
    /// In the query of the URL.
    #[default]
    Get,
    /// In the body.
    Post,
    /// Not at all: the form only closes a dialog.
    Dialog,
}

/// A field that is sent with a form.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FormField {
    /// The name.
    pub name: String,
    /// The initial value.
    pub value: String,
    /// The kind of the field.
    pub kind: FieldKind,
}

/// The kind of a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FieldKind {
    /// A line of text that a person may change.
    Text,
    /// A password.
    Password,
    /// The submit button that the enter key presses.
    Button,
    /// Any other field: hidden, chosen or longer text.
    Other,
}

/// Returns an attribute of the current element by its name.
pub type Attribute<'a> = dyn Fn(&str) -> Option<String> + 'a;

/// The forms of the page `html`, in its order.
pub fn forms(html: &[u8]) -> Vec<Form> {
    let mut all = Vec::new();
    let mut reader = FormsReader::default();
    let mut emitter = DefaultEmitter::default();
    // The text of a script contains no tags.
    emitter.naively_switch_states(true);
    for Ok(token) in Tokenizer::new_with_emitter(html, emitter) {
        all.extend(reader.token(&token));
    }
    all.extend(reader.end());
    all
}

/// Finds forms among the tokens of a page.
#[derive(Debug, Default)]
pub struct FormsReader(Option<OpenForm>);

impl FormsReader {
    /// Takes the next token. Returns the form that it ends.
    pub fn token(&mut self, token: &Token) -> Option<Form> {
        match (token, &mut self.0) {
            (Token::StartTag(tag), open) => {
                let attribute = |name: &str| {
                    let value = tag.attributes.get(name.as_bytes())?;
                    Some(String::from_utf8_lossy(value).into_owned())
                };
                let name = String::from_utf8_lossy(&tag.name);
                match open {
                    // A form inside a form is ignored (HTML, 13.2.6.4.7).
                    Some(form) => form.start(&name, &attribute),
                    None if name == "form" => *open = Some(OpenForm::new(&attribute)),
                    None => {}
                }
            }
            (Token::String(text), Some(form)) => form.text(&String::from_utf8_lossy(text)),
            (Token::EndTag(tag), _) if *tag.name == *b"form" => return self.end(),
            (Token::EndTag(tag), Some(form)) => form.end(&String::from_utf8_lossy(&tag.name)),
            _ => {}
        }
        None
    }

    /// Takes the end of the page. Returns the form that it ends.
    pub fn end(&mut self) -> Option<Form> {
        Some(self.0.take()?.finish())
    }
}

/// A form while its page is read.
#[derive(Debug, Default)]
struct OpenForm {
    form: Form,
    /// Whether the first submit button is among the fields: the enter key presses that one.
    has_button: bool,
    open: Option<OpenField>,
}

/// A field with content of its own that has not ended yet.
#[derive(Debug)]
enum OpenField {
    Area {
        name: String,
        text: String,
    },
    Select {
        name: String,
        chosen: Option<String>,
        first: Option<String>,
        option: Option<SelectOption>,
    },
}

/// An option of a selection.
#[derive(Debug, Default)]
struct SelectOption {
    value: Option<String>,
    text: String,
    is_selected: bool,
}

impl OpenForm {
    fn new(attribute: &Attribute<'_>) -> OpenForm {
        let method = attribute("method").unwrap_or_default();
        let is = |name: &str| method.trim().eq_ignore_ascii_case(name);
        let method = match (is("post"), is("dialog")) {
            (true, _) => FormMethod::Post,
            (_, true) => FormMethod::Dialog,
            _ => FormMethod::Get,
        };
        let action = attribute("action").filter(|action| !action.trim().is_empty());
        let action = action.map(|action| action.trim().to_owned());
        OpenForm { form: Form { action, method, ..Form::default() }, ..OpenForm::default() }
    }

    /// Takes the beginning of an element in the form.
    fn start(&mut self, name: &str, attribute: &Attribute<'_>) {
        let has = |name: &str| attribute(name).is_some();
        if name == "option" {
            return self.option(SelectOption {
                value: attribute("value"),
                text: String::new(),
                is_selected: has("selected"),
            });
        }
        let field = attribute("name").filter(|field| !field.is_empty() && !has("disabled"));
        match (name, field) {
            ("input", field) => self.input(field, attribute),
            ("button", field) => {
                let kind = attribute("type").unwrap_or_default();
                let presses = !["button", "reset"].iter().any(|no| kind.eq_ignore_ascii_case(no));
                match field.filter(|_| presses) {
                    Some(field) => self.button(field, attribute("value").unwrap_or_default()),
                    None => self.has_button |= presses,
                }
            }
            ("textarea", Some(name)) => {
                self.open = Some(OpenField::Area { name, text: String::new() });
            }
            ("select", Some(name)) => {
                self.open =
                    Some(OpenField::Select { name, chosen: None, first: None, option: None });
            }
            _ => {}
        }
    }

    fn input(&mut self, field: Option<String>, attribute: &Attribute<'_>) {
        let kind = attribute("type").unwrap_or_default().to_ascii_lowercase();
        self.form.has_password |= kind == "password";
        // The enter key presses the first button, with or without a name.
        let Some(field) = field else {
            self.has_button |= kind == "submit";
            return;
        };
        let value = attribute("value");
        let is_editable = attribute("readonly").is_none();
        match kind.as_str() {
            "submit" => self.button(field, value.unwrap_or_default()),
            "button" | "reset" | "image" | "file" => {}
            "checkbox" | "radio" if attribute("checked").is_none() => self.form.unsent.push(field),
            "checkbox" | "radio" => {
                let value = value.unwrap_or_else(|| "on".to_owned());
                self.add(field, value, FieldKind::Other);
            }
            "" | "text" | "search" if is_editable => {
                self.add(field, value.unwrap_or_default(), FieldKind::Text);
            }
            "password" => self.add(field, value.unwrap_or_default(), FieldKind::Password),
            _ => self.add(field, value.unwrap_or_default(), FieldKind::Other),
        }
    }

    fn button(&mut self, name: String, value: String) {
        if !self.has_button {
            self.has_button = true;
            self.add(name, value, FieldKind::Button);
        } else {
            self.form.unsent.push(name);
        }
    }

    /// Takes the beginning of an option, which ends the option before it.
    fn option(&mut self, choice: SelectOption) {
        self.end("option");
        if let Some(OpenField::Select { option, .. }) = &mut self.open {
            *option = Some(choice);
        }
    }

    /// Takes text in the form.
    fn text(&mut self, more: &str) {
        match &mut self.open {
            Some(OpenField::Area { text, .. }) => text.push_str(more),
            Some(OpenField::Select { option: Some(option), .. }) => option.text.push_str(more),
            Some(OpenField::Select { .. }) | None => {}
        }
    }

    /// Takes the end of an element in the form.
    fn end(&mut self, name: &str) {
        match (name, &mut self.open) {
            (
                "option" | "optgroup" | "select",
                Some(OpenField::Select { chosen, first, option, .. }),
            ) => {
                if let Some(option) = option.take() {
                    let is_selected = option.is_selected;
                    let text =
                        || option.text.split_ascii_whitespace().collect::<Vec<_>>().join(" ");
                    let value = option.value.unwrap_or_else(text);
                    if is_selected {
                        *chosen = Some(value);
                    } else {
                        first.get_or_insert(value);
                    }
                }
            }
            ("textarea", Some(OpenField::Area { .. })) => {}
            _ => return,
        }
        if name == "select" || name == "textarea" {
            self.close();
        }
    }

    fn close(&mut self) {
        match self.open.take() {
            Some(OpenField::Area { name, text }) => {
                // The first line break belongs to the tag (HTML, 13.2.6.4.7).
                let text = text.strip_prefix('\n').unwrap_or(&text).to_owned();
                self.add(name, text, FieldKind::Other);
            }
            Some(OpenField::Select { name, chosen, first, .. }) => {
                if let Some(value) = chosen.or(first) {
                    self.add(name, value, FieldKind::Other);
                }
            }
            None => {}
        }
    }

    fn finish(mut self) -> Form {
        self.end("select");
        self.end("textarea");
        self.form
    }

    fn add(&mut self, name: String, value: String, kind: FieldKind) {
        self.form.fields.push(FormField { name, value, kind });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_login_form_is_read_as_a_browser_would_send_it() {
        let html = br#"<p><form action='/search'><input name=q></form>
            <form method=POST action=" /login?next=/ "><input type=hidden name=_token value='a&amp;b'>
            <input type=email name=email><input type=PASSWORD name=password value=''>
            <input type=checkbox name=remember><button name=go value=1>Log in</button>
            <button name=other value=2>Other</button><textarea name=t>
x</textarea>"#;
        let all = forms(html);
        assert_eq!(all.len(), 2);
        assert_eq!((all[0].method, all[0].has_password), (FormMethod::Get, false));
        let login = &all[1];
        assert_eq!(login.action.as_deref(), Some("/login?next=/"));
        assert_eq!((login.method, login.has_password), (FormMethod::Post, true));
        let fields = login.fields.iter();
        let fields: Vec<_> =
            fields.map(|one| (one.name.as_str(), one.value.as_str(), one.kind)).collect();
        assert_eq!(
            fields,
            [
                ("_token", "a&b", FieldKind::Other),
                ("email", "", FieldKind::Other),
                ("password", "", FieldKind::Password),
                ("go", "1", FieldKind::Button),
                ("t", "x", FieldKind::Other),
            ]
        );
        assert_eq!(login.unsent, ["remember", "other"]);
        let unnamed = forms(b"<form><button>Log in</button><button name=forgot>Forgot</button>");
        assert_eq!(
            (unnamed[0].fields.len(), &unnamed[0].unsent[..]),
            (0, &["forgot".to_owned()][..])
        );
    }
}
