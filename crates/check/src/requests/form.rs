//! Builds the request of a GET form as the page shows it, with the initial values of its fields. An
//! empty line of text gets the user's token, because what a user types, such as a search, belongs
//! to the user.

use crate::users::PLACEHOLDER;

/// A form while its page is read.
#[derive(Debug, Default)]
pub(super) struct Form {
    /// Where the form is sent; `None` for the page itself.
    action: Option<String>,
    is_get: bool,
    /// Names and values, in the order of the page.
    fields: Vec<(String, String)>,
    /// Whether the first submit button is among the fields: the enter key presses that one.
    has_button: bool,
    has_password: bool,
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

/// Returns an attribute of the current element by its name.
pub(super) type Attribute<'a> = dyn Fn(&str) -> Option<String> + 'a;

impl Form {
    pub(super) fn new(attribute: &Attribute<'_>) -> Form {
        let method = attribute("method").unwrap_or_default();
        let is_get =
            !["post", "dialog"].iter().any(|other| method.trim().eq_ignore_ascii_case(other));
        let action = attribute("action").filter(|action| !action.trim().is_empty());
        Form { action, is_get, ..Form::default() }
    }

    /// Takes the beginning of an element in the form.
    pub(super) fn start(&mut self, name: &str, attribute: &Attribute<'_>) {
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
            ("button", Some(field)) => {
                let kind = attribute("type").unwrap_or_default();
                if !["button", "reset"].iter().any(|other| kind.eq_ignore_ascii_case(other)) {
                    self.button(field, attribute("value").unwrap_or_default());
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
        self.has_password |= kind == "password";
        let Some(field) = field else { return };
        let value = attribute("value");
        match kind.as_str() {
            "submit" => self.button(field, value.unwrap_or_default()),
            "button" | "reset" | "image" | "file" => {}
            "checkbox" | "radio" if attribute("checked").is_none() => {}
            "checkbox" | "radio" => {
                self.fields.push((field, value.unwrap_or_else(|| "on".to_owned())))
            }
            "" | "text" | "search" if attribute("readonly").is_none() => {
                let typed = value.filter(|value| !value.is_empty());
                self.fields.push((field, typed.unwrap_or_else(|| PLACEHOLDER.to_owned())));
            }
            _ => self.fields.push((field, value.unwrap_or_default())),
        }
    }

    fn button(&mut self, name: String, value: String) {
        if !self.has_button {
            self.has_button = true;
            self.fields.push((name, value));
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
    pub(super) fn text(&mut self, more: &str) {
        match &mut self.open {
            Some(OpenField::Area { text, .. }) => text.push_str(more),
            Some(OpenField::Select { option: Some(option), .. }) => option.text.push_str(more),
            Some(OpenField::Select { .. }) | None => {}
        }
    }

    /// Takes the end of an element in the form.
    pub(super) fn end(&mut self, name: &str) {
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
                self.fields.push((name, text));
            }
            Some(OpenField::Select { name, chosen, first, .. }) => {
                self.fields.extend(chosen.or(first).map(|value| (name, value)));
            }
            None => {}
        }
    }

    /// Returns the URL of the request; `None` for a POST form or a sign-in. `page` is the page's
    /// own URL.
    pub(super) fn link(mut self, page: &str) -> Option<String> {
        self.end("select");
        self.end("textarea");
        if !self.is_get || self.has_password {
            return None;
        }
        let action = self.action.as_deref().map_or(page, str::trim);
        let action = action.split(['?', '#']).next().unwrap_or_default();
        if self.fields.is_empty() {
            return Some(action.to_owned());
        }
        let coded =
            |text: &str| form_urlencoded::byte_serialize(text.as_bytes()).collect::<String>();
        let pairs = self.fields.iter().map(|(name, value)| match value == PLACEHOLDER {
            true => format!("{}={PLACEHOLDER}", coded(name)),
            false => format!("{}={}", coded(name), coded(value)),
        });
        Some(format!("{action}?{}", pairs.collect::<Vec<_>>().join("&")))
    }
}

#[cfg(test)]
mod tests {
    use super::super::links::links;

    fn sent(html: &str) -> String {
        let page = "http://localhost/list?page=2".parse().expect("a URL");
        links(&page, html.as_bytes()).inside.join(" ")
    }

    #[test]
    fn a_form_is_sent_with_its_default_values() {
        let cases = [
            ("<form action=/find><input name=q value='a &amp; b'></form>", "/find?q=a+%26+b"),
            ("<form action='/find?old=1#x'><input name=q></form>", "/find?q={user}"),
            ("<form action=find></form>", "/find"),
            ("<form></form>", "/list"),
            ("<form action=' '><input name=q></form>", "/list?q={user}"),
            ("<form action=/a method=post><input name=q></form>", ""),
            ("<form action=/a method=DIALOG></form>", ""),
            ("<form action=/a method=Get><input name=q type=password></form>", ""),
            ("<form action=/a><input type=password></form>", ""),
            ("<form action=/open><input name=q>", "/open?q={user}"),
            ("<form action=/a><form action=/b><input name=q></form>", "/a?q={user}"),
            ("<form action=javascript:x()><input name=q></form>", ""),
            ("<input name=outside><form action=/a><input value=unnamed></form>", "/a"),
        ];
        for (html, expected) in cases {
            assert_eq!(sent(html), expected, "{html}");
        }
    }

    #[test]
    fn its_fields_have_the_values_that_a_browser_sends() {
        let cases = [
            ("<input name=a disabled><input name=b type=file><input name=c type=image>", ""),
            ("<input name=a type=checkbox><input name=b type=radio value=1>", ""),
            (
                "<input name=a type=checkbox checked><input name=b type=radio value=1 checked>",
                "a=on&b=1",
            ),
            ("<input name=a type=hidden value=7><input name=b type=number value=8>", "a=7&b=8"),
            (
                "<input name=a><input name=b type=search value=''><input name='ü' type=TEXT>",
                "a={user}&b={user}&%C3%BC={user}",
            ),
            ("<input name=a type=email><input name=b readonly><input name=c value=x>", "a=&b=&c=x"),
            ("<input name=a type=submit value=1><button name=b value=2>x</button>", "a=1"),
            (
                "<button name=a type=button>x</button><button name=b type=reset>x</button><button name=c>x</button>",
                "c=",
            ),
            ("<textarea name=a>\n<b>x</b> &lt;</textarea>", "a=%3Cb%3Ex%3C%2Fb%3E+%3C"),
            ("<select name=a><option value=1>one<option value=2>two</select>", "a=1"),
            ("<select name=a><option>  one  word <option selected>two</select>", "a=two"),
            (
                "<select name=a><optgroup><option value=1>x</optgroup><option value=2 selected>y</option></select>",
                "a=2",
            ),
            ("<select name=a></select><select name=b disabled><option>x</select>", ""),
            ("<select name=a><option>one", "a=one"),
        ];
        for (fields, query) in cases {
            let expected = if query.is_empty() { "/x".into() } else { format!("/x?{query}") };
            assert_eq!(sent(&format!("<form action=/x>{fields}</form>")), expected, "{fields}");
        }
    }
}
