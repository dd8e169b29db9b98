//! Tests the parsing of URLs, and where connections go.

use stampede_model::causes::chain;
use stampede_model::load::HttpVersion;

use super::*;

fn parse(url: &str) -> Result<Target, TargetError> {
    Target::parse(url, &Lookup::default())
}

fn read(url: &str) -> (String, String, String) {
    let target = parse(url).unwrap_or_else(|error| panic!("{url}: {}", chain(&error)));
    (target.addresses.to_string(), target.host, target.path)
}

#[test]
fn every_part_of_a_url_is_parsed() {
    let table = [
        ("http://127.0.0.1", "127.0.0.1:80", "127.0.0.1", "/"),
        ("http://127.0.0.1:/a", "127.0.0.1:80", "127.0.0.1", "/a"),
        ("http://127.0.0.1:8080/a?b=c", "127.0.0.1:8080", "127.0.0.1:8080", "/a?b=c"),
        ("http://127.0.0.1?b=/c", "127.0.0.1:80", "127.0.0.1", "/?b=/c"),
        ("http://[::1]:65535/", "[::1]:65535", "[::1]:65535", "/"),
        ("unix:/run/a.sock", "/run/a.sock", "localhost", "/"),
        ("unix:/run/a.sock:/a:b", "/run/a.sock", "localhost", "/a:b"),
        ("http+unix:/run/a.sock:/a", "/run/a.sock", "localhost", "/a"),
        ("http+unix://%2Frun%2Fa.sock/a?b", "/run/a.sock", "localhost", "/a?b"),
        ("unix://%2Frun%2Fa.sock", "/run/a.sock", "localhost", "/"),
        ("unix://%2Frun%2Fa.sock?b", "/run/a.sock", "localhost", "/?b"),
        ("unix://%2Frun%2Fa.sock:/a:b", "/run/a.sock", "localhost", "/a:b"),
        ("unix:///run/a.sock", "///run/a.sock", "localhost", "/"),
        ("https://127.0.0.1/a", "127.0.0.1:443", "127.0.0.1", "/a"),
        ("https://[::1]:80/", "[::1]:80", "[::1]:80", "/"),
        ("fcgi://127.0.0.1/w/a.php", "127.0.0.1:9000", "localhost", "/a.php"),
        ("fcgi+unix:/run/a.sock:/w/a.php/x?y", "/run/a.sock", "localhost", "/x?y"),
    ];
    for (url, address, host, path) in table {
        assert_eq!(read(url), (address.to_owned(), host.to_owned(), path.to_owned()), "{url}");
    }
}

#[test]
fn a_fastcgi_url_names_the_script_and_what_the_app_sees() {
    let table = [
        ("/var/www/index.php", "/var/www/index.php", "/index.php"),
        ("/var/www/index.php?a=b", "/var/www/index.php", "/index.php?a=b"),
        ("/var/www/index.php/", "/var/www/index.php", "/"),
        ("/var/www/index.php/shop/5?a=/b.php", "/var/www/index.php", "/shop/5?a=/b.php"),
        ("/var/my.phpapp/a%20b.php/x%20y", "/var/my.phpapp/a b.php", "/x%20y"),
        ("/a.php/b.php", "/a.php", "/b.php"),
        ("/fpm/status?json", "/fpm/status", "/status?json"),
    ];
    for (path, filename, seen) in table {
        let (script, uri) = script(path).expect(path);
        assert_eq!((script.filename(), uri.as_str()), (filename, seen), "{path}");
    }
    for path in ["/", "", "index.php", "/var/www/", "/%ff.php", "/a%00.php", "?a"] {
        assert_eq!(script(path), None, "{path:?}");
    }
}

#[test]
fn the_protocol_follows_from_the_url() {
    let spoken = |url: &str| parse(url).expect(url).wire;
    assert!(matches!(spoken("http://127.0.0.1/"), Wire::Http1));
    assert!(matches!(spoken("https://127.0.0.1/"), Wire::Tls(_)));
    assert!(matches!(spoken("fcgi+unix:/run/a.sock:/a.php"), Wire::FastCgi));
    let fcgi = parse("fcgi://127.0.0.1/w/a.php").expect("a target");
    let client = |keep_alive| {
        let mut client = Client { name: "x".into(), http: HttpVersion::Http11, keep_alive };
        fcgi.settle(&mut client);
        client.keep_alive
    };
    assert_eq!(client(KeepAlive::Auto), KeepAlive::Off);
    assert_eq!(client(KeepAlive::On), KeepAlive::On);
}

/// The URL's host stays in the `Host` header and in TLS, wherever the connections go.
#[test]
fn connections_go_elsewhere_and_the_name_stays() {
    let lookup = |connect_to: &[&str], resolve: &[&str]| {
        let owned = |all: &[&str]| all.iter().map(|one| (*one).to_owned()).collect::<Vec<_>>();
        Lookup::parse(&owned(connect_to), &owned(resolve)).expect("replacements")
    };
    let url = "https://shop.invalid/a";
    let table = [
        (lookup(&["::127.0.0.1:8443"], &[]), "127.0.0.1:8443"),
        (lookup(&[], &["shop.invalid:443:127.0.0.1"]), "127.0.0.1:443"),
        (lookup(&["::b.invalid:1"], &["b.invalid:1:127.0.0.9"]), "127.0.0.9:1"),
    ];
    for (lookup, address) in table {
        let target = Target::parse(url, &lookup).expect(address);
        assert_eq!(target.addresses.to_string(), address);
        assert_eq!((target.host.as_str(), server_name(&target)), ("shop.invalid", "shop.invalid"));
    }
    let wrong = Target::parse(url, &lookup(&[], &["shop.invalid:80:127.0.0.1"]));
    let wrong = wrong.expect_err("another port");
    assert!(matches!(wrong, TargetError::Lookup(_)), "{wrong}");
    let socket = Target::parse("unix:/run/a.sock", &lookup(&[], &["a:80:127.0.0.1"]));
    assert!(matches!(socket, Err(TargetError::Lookup(_))), "nothing is looked up");
}

fn server_name(target: &Target) -> &str {
    let Wire::Tls(setup) = &target.wire else { panic!("no TLS") };
    setup.host()
}

#[test]
fn the_name_in_tls_follows_the_host_header() {
    let table = [
        ("shop.test", "shop.test"),
        ("shop.test:8443", "shop.test"),
        ("shop.test:", "shop.test"),
        ("127.0.0.2:8443", "127.0.0.2"),
        ("[::1]:8443", "::1"),
        ("[::1]", "::1"),
        ("::1", "::1"),
        ("", "localhost"),
    ];
    for (header, name) in table {
        let mut target = parse("https://localhost/").expect("a target");
        target.set_server_name(header).expect(header);
        assert_eq!(server_name(&target), name, "{header:?}");
    }
    let mut target = parse("https://127.0.0.1/").expect("a target");
    for odd in ["a b", "shop.test:x", "-", "caf\u{e9}.test"] {
        let error = target.set_server_name(odd).expect_err(odd);
        assert!(matches!(error, TargetError::Tls(_)), "{odd}: {error}");
    }
    let mut plain = parse("http://127.0.0.1/").expect("a target");
    plain.set_server_name("a b").expect("without TLS any name is fine");
}

#[cfg_attr(feature = "codes-for-text", ignore = "reads sentences")]
#[test]
fn where_nobody_accepts_each_address_has_its_error() {
    let refused = || io::Error::from_raw_os_error(libc::ECONNREFUSED);
    let late = || io::Error::from_raw_os_error(libc::ETIMEDOUT);
    let silent = vec![
        SilentAddress { address: "[::1]:8080".parse().unwrap(), error: refused() },
        SilentAddress { address: "127.0.0.1:8080".parse().unwrap(), error: late() },
    ];
    let error = TargetError::NobodyAccepts { name: "shop.test".to_owned(), silent };
    let name = Setup::new("a b", Certificates::Any, Sessions::New).expect_err("no name");
    let errors = [error, TargetError::Tls(name)];
    let errors = errors
        .map(|error| format!("{}\nhint: {}\n", chain(&error), error.hint().unwrap_or_default()));
    insta::assert_snapshot!(errors.join("\n"));
}

#[cfg_attr(feature = "codes-for-text", ignore = "reads sentences")]
#[test]
fn what_would_send_elsewhere_is_refused_with_a_hint() {
    let long = format!("unix:/{}", "a".repeat(120));
    let urls = [
        "127.0.0.1:8080",
        "ftp://127.0.0.1/",
        "http://127.0.0.1:70000/",
        "http://127.0.0.1:0/",
        "http://me:secret@127.0.0.1/",
        "http:///a",
        "http://a b/",
        "unix:",
        "unix::/path",
        "fcgi+unix:",
        "fcgi://127.0.0.1:9000",
        "fcgi+unix:/run/a.sock",
        &long,
    ];
    let errors = urls.map(|url| {
        let error = parse(url).expect_err(url);
        format!("{}\nhint: {}\n", chain(&error), error.hint().unwrap_or_default())
    });
    insta::assert_snapshot!(errors.join("\n"));
}
