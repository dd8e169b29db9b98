//! Bodies of HTML forms: URL-encoded pairs, and multipart (RFC 7578).

/// The media type of URL-encoded pairs.
pub(super) const URL_ENCODED: &str = "application/x-www-form-urlencoded";

/// The media type of forms with files.
pub(super) const MULTIPART: &str = "multipart/form-data";

/// One field of a multipart form.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Part {
    pub(super) name: String,
    pub(super) file_name: Option<String>,
    pub(super) content_type: Option<String>,
    pub(super) value: Vec<u8>,
}

/// URL-encodes the pairs, unless whoever recorded them has done so already.
pub(super) fn url_encoded(pairs: &[(String, String)]) -> String {
    let words = || pairs.iter().flat_map(|(name, value)| [name.as_str(), value.as_str()]);
    if words().any(|word| word.contains('%')) && words().all(is_encoded) {
        let joined = pairs.iter().map(|(name, value)| format!("{name}={value}"));
        return joined.collect::<Vec<_>>().join("&");
    }
    let mut out = form_urlencoded::Serializer::new(String::new());
    out.extend_pairs(pairs);
    out.finish()
}

/// Whether the word can be the result of URL-encoding.
fn is_encoded(word: &str) -> bool {
    let bytes = word.as_bytes();
    bytes.iter().enumerate().all(|(place, byte)| match byte {
        b'%' => {
            bytes.get(place + 1..place + 3).is_some_and(|two| two.iter().all(u8::is_ascii_hexdigit))
        }
        byte => byte.is_ascii_alphanumeric() || b"*-._+~!'()".contains(byte),
    })
}

/// The multipart body of these parts, and its media type. A boundary that is given is used, since
/// it is in a header already.
pub(super) fn multipart(parts: &[Part], boundary: Option<&str>) -> (Vec<u8>, String) {
    let boundary = boundary.map_or_else(|| new_boundary(parts), str::to_owned);
    let mut body = Vec::new();
    for part in parts {
        let mut head = format!(
            "--{boundary}\r\nContent-Disposition: form-data; name=\"{}\"",
            quoted(&part.name)
        );
        if let Some(file_name) = &part.file_name {
            head.push_str(&format!("; filename=\"{}\"", quoted(file_name)));
        }
        if let Some(content_type) = &part.content_type {
            head.push_str(&format!(
                "\r\nContent-Type: {}",
                content_type.replace(['\r', '\n'], " ")
            ));
        }
        body.extend_from_slice(head.as_bytes());
        body.extend_from_slice(b"\r\n\r\n");
        body.extend_from_slice(&part.value);
        body.extend_from_slice(b"\r\n");
    }
    body.extend_from_slice(format!("--{boundary}--\r\n").as_bytes());
    (body, format!("{MULTIPART}; boundary={boundary}"))
}

/// The boundary that a media type names.
pub(super) fn boundary(media_type: &str) -> Option<&str> {
    let mut parameters = media_type.split(';').skip(1).map(str::trim);
    let value = parameters.find_map(|parameter| {
        let (name, value) = parameter.split_once('=')?;
        name.trim().eq_ignore_ascii_case("boundary").then(|| value.trim().trim_matches('"'))
    });
    value.filter(|value| !value.is_empty())
}

/// A boundary that is in no value. The same parts give the same one.
fn new_boundary(parts: &[Part]) -> String {
    let mut boundary = "stampede-form".to_owned();
    let has = |boundary: &str| {
        let contains =
            |part: &Part| part.value.windows(boundary.len()).any(|w| w == boundary.as_bytes());
        parts.iter().any(contains)
    };
    // Each round makes it longer, so it ends.
    while has(&boundary) {
        boundary.push_str("-x");
    }
    boundary
}

/// A name within quotes, as browsers write it.
fn quoted(name: &str) -> String {
    name.replace('"', "%22").replace('\r', "%0D").replace('\n', "%0A")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pairs(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
        pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    }

    #[test]
    fn pairs_are_encoded_once() {
        let encoded = |list: &[(&str, &str)]| url_encoded(&pairs(list));
        assert_eq!(encoded(&[("q", "Tom & Jerry=1")]), "q=Tom+%26+Jerry%3D1");
        assert_eq!(encoded(&[("q", "Tom+%26+Jerry%3D1"), ("b", "")]), "q=Tom+%26+Jerry%3D1&b=");
        assert_eq!(encoded(&[("q", "100%"), ("b", "1")]), "q=100%25&b=1");
        assert_eq!(encoded(&[("q", "%41 b")]), "q=%2541+b", "a blank: it is not encoded");
        assert_eq!(encoded(&[("a", "b+c")]), "a=b%2Bc", "nothing shows that it is encoded");
    }

    #[test]
    fn a_multipart_form_is_rebuilt() {
        let file = Part {
            name: "f\"".to_owned(),
            file_name: Some("a.txt".to_owned()),
            content_type: Some("text/plain".to_owned()),
            value: b"one stampede-form two".to_vec(),
        };
        let field = Part { name: "a".to_owned(), value: b"1".to_vec(), ..Part::default() };
        let (body, media_type) = multipart(&[field.clone(), file], Some("x"));
        let expected = "--x\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\n1\r\n\
            --x\r\nContent-Disposition: form-data; name=\"f%22\"; filename=\"a.txt\"\r\n\
            Content-Type: text/plain\r\n\r\none stampede-form two\r\n--x--\r\n";
        assert_eq!(
            (String::from_utf8(body).unwrap().as_str(), media_type.as_str()),
            (expected, "multipart/form-data; boundary=x")
        );
        assert_eq!(boundary(&media_type), Some("x"));
        let other = Part { value: b"stampede-form".to_vec(), ..field };
        assert!(multipart(&[other], None).1.ends_with("=stampede-form-x"));
        assert_eq!([boundary("multipart/form-data"), boundary("a; boundary=\"\"")], [None, None]);
        assert_eq!(boundary("Multipart/Form-Data; charset=x; Boundary=\"a b\""), Some("a b"));
    }
}
