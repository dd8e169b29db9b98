//! Builds the request of a GET form as the page shows it, with the initial values of its fields. An
//! empty line of text gets the user's token, because what a user types, such as a search, belongs
//! to the user.

use stampede_markup::forms::{FieldKind, Form, FormField, FormMethod};

use crate::users::PLACEHOLDER;

/// Returns the URL of the request; `None` for a POST form or a sign-in. `page` is the page's own
/// URL.
pub(super) fn link(form: &Form, page: &str) -> Option<String> {
    if form.method != FormMethod::Get || form.has_password {
        return None;
    }
    let action = form.action.as_deref().unwrap_or(page);
    let action = action.split(['?', '#']).next().unwrap_or_default();
    if form.fields.is_empty() {
        return Some(action.to_owned());
    }
    let coded = |text: &str| form_urlencoded::byte_serialize(text.as_bytes()).collect::<String>();
    let pair = |FormField { name, value, kind }: &FormField| {
        let is_typed = *kind == FieldKind::Text && value.is_empty();
        let value = if is_typed { PLACEHOLDER.to_owned() } else { coded(value) };
        format!("{}={value}", coded(name))
    };
    let pairs: Vec<String> = form.fields.iter().map(pair).collect();
    Some(format!("{action}?{}", pairs.join("&")))
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
