//! Tests of Yandex Tank's files as people have them.

use super::*;

/// The bracket between two headers ended up in the value of the first.
#[test]
fn several_headers_on_a_line_are_several_headers() {
    for traffic in [
        "[Host: shop.test] [Connection: close]\n/a\n",
        "[Host: shop.test][Connection: close]\n1 /a\nx\n",
    ] {
        let (texts, _) = read(traffic.as_bytes()).unwrap();
        assert!(texts[0].contains("\r\nHost: shop.test\r\nConnection: close\r\n"), "{texts:?}");
    }
}

/// Editors and git write LF, and people then count the bytes of such a file.
#[test]
fn a_phantom_file_with_lf_alone_is_sent_with_crlf() {
    let request = "POST /a HTTP/1.1\nHost: a\nContent-Length: 4\n\nb\n\nc";
    let traffic = format!("{} buy\n{request}\n24\nGET / HTTP/1.1\nHost: b\n\n0\n", request.len());
    let (texts, notes) = read(traffic.as_bytes()).unwrap();
    assert_eq!((texts.len(), notes.broken), (2, 0), "{texts:?}");
    assert!(
        texts[0].contains("POST /a HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\n\r\nb\n\nc"),
        "{texts:?}"
    );
    assert!(texts[1].contains("GET / HTTP/1.1\r\nHost: b\r\n\r\n"), "{texts:?}");
}
