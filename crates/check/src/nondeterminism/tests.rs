//! Tests of both dangers: alarms where nothing is wrong, and leaks that are taken for what varies.

use proptest::prelude::*;
use stampede_stats::random::Random;

use super::super::natural::user_tokens;
use super::*;

const ANNA: &str = "stmpdanna01234567";
const BERT: &str = "stmpdbert01234567";

/// Returns what was learnt from this many pairs of pages.
fn learnt(pairs: usize, mut page: impl FnMut(&mut Random) -> String) -> (Nondeterminism, Random) {
    let mut random = Random::with_seed(1);
    let mut nondeterminism = Nondeterminism::new();
    for _ in 0..pairs {
        nondeterminism.learn(&page(&mut random), &page(&mut random));
    }
    (nondeterminism, random)
}

/// Checks that pages of a clean app never differ from each other.
fn is_clean(name: &str, pairs: usize, mut page: impl FnMut(&mut Random) -> String) {
    let (nondeterminism, mut random) = learnt(pairs, &mut page);
    for _ in 0..200 {
        let (one, other) = (page(&mut random), page(&mut random));
        if let Some(difference) = nondeterminism.difference(&one, &other) {
            panic!("{name}: {}\n{one}\n{other}", difference.text);
        }
    }
}

fn word(random: &mut Random) -> String {
    const WORDS: [&str; 12] = [
        "lorem", "ipsum", "dolor", "sit", "amet", "elit", "sed", "do", "magna", "aliqua", "ut",
        "enim",
    ];
    WORDS[random.below(WORDS.len())].to_owned()
}

fn drawn(random: &mut Random, letters: &str, length: usize) -> String {
    let letters: Vec<char> = letters.chars().collect();
    (0..length).map(|_| letters[random.below(letters.len())]).collect()
}

const BASE64: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
const BASE62: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
const HEX: &str = "0123456789abcdef";

#[test]
fn form_tokens_nonces_and_ids_vary() {
    is_clean("csrf", 1, |random| {
        let token = drawn(random, BASE64, 43);
        format!(
            "<form>\n<input type=\"hidden\" name=\"_token\" value=\"{token}=\">\n</form>\n<p>1</p>"
        )
    });
    is_clean("short base62", 3, |random| {
        let (one, other) = (drawn(random, BASE62, 20), drawn(random, BASE62, 8));
        format!("<script nonce=\"{one}\" src=\"/a.js?{other}\"></script><p>Visits: 1</p>")
    });
    is_clean("hex", 1, |random| {
        let (one, other) = (drawn(random, HEX, 16), drawn(random, HEX, 13));
        format!("{{\"id\":\"{one}\",\"other\":\"{other}\",\"visits\":1}}")
    });
    is_clean("numbers", 6, |random| {
        format!("<p>Number {} of {}</p>\n<p>Visits: 1</p>", random.below(1_000_000), random.share())
    });
    is_clean("cookie", 1, |random| {
        format!(
            "set-cookie: session={}%3D; path=/; httponly\nvary: Cookie",
            drawn(random, BASE64, 40)
        )
    });
}

#[test]
fn random_text_varies() {
    is_clean("text", 8, |random| {
        let words: Vec<String> = (0..5 + random.below(10)).map(|_| word(random)).collect();
        format!("<h1>News</h1>\n<p>{}.</p>\n<p>Visits: 1</p>", words.join(" "))
    });
    is_clean("quote", 12, |random| {
        let quotes = ["To be or not to be", "I came, I saw", "Panta rhei", "Know thyself!"];
        format!("<q>{}</q><b>1</b>", quotes[random.below(quotes.len())])
    });
}

/// Marks of base64 that are by chance in one answer and not in the other do not matter. In one pair
/// of 2048, two tokens begin with the same mark, which then looks fixed.
#[test]
fn one_pair_is_enough_for_random_words() {
    let alarms = (0..200).filter(|seed| {
        let mut random = Random::with_seed(*seed);
        let mut page = || {
            let nonce = drawn(&mut random, BASE64, 24);
            format!("<script nonce=\"{nonce}\"></script><i>{}</i>", drawn(&mut random, BASE64, 43))
        };
        let mut nondeterminism = Nondeterminism::new();
        nondeterminism.learn(&page(), &page());
        nondeterminism.difference(&page(), &page()).is_some()
    });
    assert!(alarms.count() <= 2);
}

#[test]
fn volatile_content_that_counts_as_equal_is_not_shown() {
    let (one, other) = ("id d41d8cd98f00b204 at 16:35 a", "id 0cc175b9c0f1b6a8 at 16:35 b");
    let found = Nondeterminism::new().difference(one, other).unwrap();
    assert_eq!(found.text, "- id … at 16:35 a\n+ id … at 16:35 b");
}

#[test]
fn lists_of_random_length_and_order_vary() {
    is_clean("length", 8, |random| {
        let item =
            |random: &mut Random| format!("  <li><a href=\"/{0}\">{0}</a></li>\n", word(random));
        let items: String = (0..1 + random.below(8)).map(|_| item(random)).collect();
        format!("<ul>\n{items}</ul>\n<p>Visits: 1</p>")
    });
    is_clean("equal items", 8, |random| {
        format!("<div>{}</div><p>1</p>", "<i>*</i>".repeat(1 + random.below(6)))
    });
    is_clean("order", 10, |random| {
        let mut names = ["red", "green", "blue", "white", "black"];
        (1..names.len()).for_each(|i| names.swap(i, random.below(i + 1)));
        let items: Vec<String> = names.iter().map(|name| format!("\"{name}\"")).collect();
        format!("{{\"colours\":[{}],\"visits\":1}}", items.join(","))
    });
}

#[test]
fn nondeterministic_content_needs_no_learning() {
    for (one, other) in [
        ("at 2026-11-22T16:35:34+00:00 it", "at 2026-11-23T00:01:00+00:00 it"),
        ("Date: Sun, 22 Nov 2026 16:35:34 GMT", "Date: Mon, 23 Nov 2026 00:00:01 GMT"),
        ("took 12 ms", "took 3.5 ms"),
        ("t=1795365334.123", "t=1795365399.9"),
        ("id 0f8fad5b-d9cb-469f-a165-70867728950e", "id 7c9e6679-7425-40de-944b-e07fc1f90ae7"),
        ("sum d41d8cd98f00b204e9800998ecf8427e", "sum 0cc175b9c0f1b6a831c399e269772661"),
    ] {
        assert_eq!(Nondeterminism::new().difference(one, other), None, "{one}");
    }
}

#[test]
fn a_time_zone_and_a_distant_time_do_not_vary() {
    for (one, other) in [
        ("at 2026-11-22T16:35:34+00:00", "at 2026-11-22T16:35:34+01:00"),
        ("at 2026-11-22 16:35:34 UTC", "at 2026-11-22 16:35:34 CET"),
        ("at 16:35 Z", "at 16:35 CET"),
        ("1795365334", "1795965334"),
        ("2026-11-22", "22.11.2026"),
        ("d41d8cd98f00b204", "0cc175b9c0f1b6a831c399e269772661"),
    ] {
        assert!(Nondeterminism::new().difference(one, other).is_some(), "{one}");
    }
}

/// Returns a page with everything that varies, and with parts that must not.
fn page(random: &mut Random, user: &str, visits: u32, more: &str) -> String {
    let (token, nonce) = (drawn(random, BASE64, 43), drawn(random, BASE62, 8));
    let items: String =
        (0..1 + random.below(4)).map(|_| format!("  <li>{}</li>\n", word(random))).collect();
    format!(
        "<script nonce=\"{nonce}\"></script>\n<h1>Hello {user}!</h1>\n<ul>\n{items}</ul>\n{more}\
         <input name=\"_token\" value=\"{token}\"><p>{} Visits: {visits} {}</p>\n",
        random.below(100_000),
        random.below(100_000)
    )
}

#[test]
fn a_leak_is_found_on_a_page_that_varies() {
    let (nondeterminism, mut random) = learnt(8, |random| page(random, ANNA, 1, ""));
    let mut seen = |user: &str, visits, more: &str| {
        let ours = page(&mut random, ANNA, 1, "");
        nondeterminism.difference(&ours, &page(&mut random, user, visits, more))
    };
    assert_eq!(seen(ANNA, 1, ""), None);
    let other = seen(BERT, 1, "").unwrap();
    assert_eq!(
        (&other.missing[..], &other.extra[..]),
        (&[ANNA.to_owned()][..], &[BERT.to_owned()][..])
    );
    assert_eq!(other.text, format!("- <h1>Hello {ANNA}!</h1>\n+ <h1>Hello {BERT}!</h1>"));
    let counted = seen(ANNA, 7, "").unwrap();
    assert_eq!((counted.missing, counted.extra), (vec!["1".to_owned()], vec!["7".to_owned()]));
    assert!(
        counted.text.contains("+ <input name=\"_token\" value=\"…\"><p>… Visits: 7 …</p>"),
        "{}",
        counted.text
    );
    let added = seen(ANNA, 1, "<p>Welcome back, Bert</p>\n").unwrap();
    assert_eq!(added.text, "+ <p>Welcome back, Bert</p>");
}

#[test]
fn what_was_learnt_from_one_user_holds_for_another() {
    let (nondeterminism, mut random) = learnt(8, |random| page(random, ANNA, 1, ""));
    for _ in 0..50 {
        let (one, other) = (page(&mut random, BERT, 1, ""), page(&mut random, BERT, 1, ""));
        assert_eq!(nondeterminism.difference(&one, &other), None);
        assert!(nondeterminism.difference(&one, &page(&mut random, ANNA, 1, "")).is_some());
        assert!(nondeterminism.difference(&one, &page(&mut random, BERT, 2, "")).is_some());
    }
}

#[test]
fn another_users_token_is_found_within_varying_content() {
    let page = |random: &mut Random, user: &str| {
        let items: Vec<String> = (0..2 + random.below(4))
            .map(|_| format!("<li>{user}: {}</li>", word(random)))
            .collect();
        format!("<ul>{}</ul>", items.concat())
    };
    let (nondeterminism, mut random) = learnt(8, |random| page(random, ANNA));
    for _ in 0..50 {
        let (one, same) = (page(&mut random, ANNA), page(&mut random, ANNA));
        assert_eq!(nondeterminism.difference(&one, &same), None);
        let other = same.replacen(ANNA, BERT, 1);
        let difference = nondeterminism.difference(&one, &other).expect("a leak");
        assert_eq!(difference.extra[0], BERT, "{}", difference.text);
    }
}

#[test]
fn new_content_in_a_gap_is_a_difference() {
    let (nondeterminism, _) = learnt(6, |random| format!("<p>{}</p>", random.below(1_000)));
    assert_eq!(nondeterminism.difference("<p>5</p>", "<p>77</p>"), None);
    for other in ["<p>Bert</p>", "<p></p>", "<p>5</p><p>6</p>", "<p>5 of 6</p>", "<p>-5</p>"] {
        assert!(nondeterminism.difference("<p>5</p>", other).is_some(), "{other}");
    }
}

#[test]
fn a_random_word_does_not_align_with_a_name_elsewhere() {
    let mut nondeterminism = Nondeterminism::new();
    nondeterminism.learn("a 1 b 5 c", "a 1 b 6 c");
    assert_eq!(nondeterminism.difference("a 1 b 5 c", "a 1 b 7 c"), None);
    assert!(nondeterminism.difference("a 1 b 5 c", "a 2 b 7 c").is_some());
}

#[test]
fn differences_are_read_at_a_glance() {
    let of = |one: &str, other: &str| Nondeterminism::new().difference(one, other).unwrap();
    let long = |word: &str| format!("{}{word}{}", "a b ".repeat(200), " c d".repeat(200));
    let cut = of(&long("here"), &long("there"));
    let lines: Vec<&str> = cut.text.lines().collect();
    assert!(lines.len() == 2 && lines.iter().all(|line| line.len() < 180), "{}", cut.text);
    assert!(lines[0].contains(" here ") && lines[1].contains(" there "), "{}", cut.text);
    let many = |word: &str| (0..40).map(|i| format!("{word}{i}\nsame\n")).collect::<String>();
    let cut = of(&many("x"), &many("y"));
    assert_eq!(cut.text.lines().count(), 13);
    assert!(cut.text.starts_with("- x0\n+ y0\n- x1\n+ y1\n"), "{}", cut.text);
    assert!(cut.text.ends_with("lines more)"), "{}", cut.text);
    assert_eq!(of("a\nb\nc\n", "a\nc\n").text, "- b");
    assert_eq!(of("a\u{1b}[31m", "b").text, "- a\u{fffd}[31m\n+ b");
    let gone = of("<p>Fine</p>", "");
    assert_eq!((gone.text.as_str(), gone.missing[1].as_str()), ("- <p>Fine</p>", "Fine"));
}

#[test]
fn an_image_is_one_token() {
    let image = |random: &mut Random| {
        let bytes: Vec<u8> = (0..4_000).map(|_| random.below(256) as u8).collect();
        String::from_utf8_lossy(&bytes).into_owned()
    };
    is_clean("image", 3, image);
    let mut random = Random::with_seed(2);
    assert!(Nondeterminism::new().difference(&image(&mut random), &image(&mut random)).is_some());
}

#[test]
fn without_time_only_another_users_token_is_certain() {
    let page = |user: &str, rest: &str| format!("<p>one</p><p>{rest}</p><p>{user}</p><p>end</p>");
    let learnt = Nondeterminism::new();
    let compare = |time: Duration, other: &str| {
        learnt.difference_within(time, &page(ANNA, "a b c"), other).expect("another page")
    };
    let long = Duration::from_secs(60);
    let changed = page(ANNA, "a x c");
    assert!(compare(long, &changed).is_whole && !compare(Duration::ZERO, &changed).is_whole);
    assert!(!compare(Duration::ZERO, &changed).shows_user());
    let leak = page(BERT, "a b c");
    assert!(compare(long, &leak).shows_user() && compare(Duration::ZERO, &leak).shows_user());
    // Where no part has to be searched, no time is needed.
    assert!(compare(Duration::ZERO, &(page(ANNA, "a b c") + "<p>more</p>")).is_whole);
}

/// A leak is found in a megabyte that varies everywhere, even if a slow machine runs out of time.
#[test]
fn a_leak_in_a_large_body_is_reported() {
    let page = |random: &mut Random, user: &str| {
        let row = |random: &mut Random, i: usize| {
            let number = random.below(999);
            format!("<tr><td>{i}</td><td>{}</td><td>{number}</td></tr>\n", word(random))
        };
        let rows: String = (0..20_000).map(|i| row(random, i)).collect();
        format!("<table>\n{rows}</table>\n<p>{user}</p>")
    };
    let mut random = Random::with_seed(3);
    let mut nondeterminism = Nondeterminism::new();
    let begin = Instant::now();
    nondeterminism.learn(&page(&mut random, ANNA), &page(&mut random, ANNA));
    println!("learnt in {:?}", begin.elapsed());
    let ours = page(&mut random, ANNA);
    let begin = Instant::now();
    let found = nondeterminism.difference(&ours, &page(&mut random, BERT)).expect("a leak");
    println!("compared in {:?}", begin.elapsed());
    assert!(found.extra.contains(&BERT.to_owned()) && found.missing.contains(&ANNA.to_owned()));
}

/// Labels, each followed by a gap of one sort. Fixed text that were the same in every line would be
/// no label, because it would not be clear which line it belongs to.
fn template() -> impl Strategy<Value = Vec<(String, usize)>> {
    let label = |at: usize| {
        let mut random = Random::with_seed(at as u64);
        let mut word = || drawn(&mut random, "abcdefghijklmnop", 6);
        format!("<h2 id=\"{}\">{} {}</h2>: ", word(), word(), word())
    };
    prop::collection::vec(0..6_usize, 1..12)
        .prop_map(move |sorts| (0..).map(label).zip(sorts).collect())
}

fn filled(template: &[(String, usize)], random: &mut Random) -> String {
    let gap = |random: &mut Random, sort: usize| match sort {
        0 => drawn(random, BASE62, 12),
        1 => format!("\"{}\"", drawn(random, BASE64, 32)),
        2 => random.below(100_000).to_string(),
        3 => format!("2026-11-22 {:02}:{:02}:00", random.below(24), random.below(60)),
        4 => (0..2 + random.below(3)).map(|_| format!("<b>{}</b>", word(random))).collect(),
        _ => String::new(),
    };
    template.iter().map(|(fixed, sort)| format!("{fixed}{}\n", gap(random, *sort))).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_third_page_does_not_differ(template in template(), seed: u64) {
        let mut random = Random::with_seed(seed);
        let mut nondeterminism = Nondeterminism::new();
        for _ in 0..20 {
            nondeterminism.learn(&filled(&template, &mut random), &filled(&template, &mut random));
        }
        let (one, other) = (filled(&template, &mut random), filled(&template, &mut random));
        prop_assert_eq!(nondeterminism.difference(&one, &other), None);
    }

    #[test]
    fn a_changed_fixed_word_is_reported(template in template(), seed: u64, at: prop::sample::Index) {
        let mut random = Random::with_seed(seed);
        let mut nondeterminism = Nondeterminism::new();
        for _ in 0..20 {
            nondeterminism.learn(&filled(&template, &mut random), &filled(&template, &mut random));
        }
        let one = filled(&template, &mut random);
        let mut changed = template.clone();
        let fixed = &mut changed[at.index(template.len())].0;
        fixed.insert_str(fixed.len() - "</h2>: ".len(), "zq");
        let other = filled(&changed, &mut random);
        let difference = nondeterminism.difference(&one, &other);
        let words = difference.as_ref().map(|found| found.extra.concat()).unwrap_or_default();
        prop_assert!(words.contains("zq"), "{one}{other}{difference:?}");
    }

    /// The texts consist of few letters, so that much is equal by chance.
    #[test]
    fn no_answers_cause_a_panic(texts in prop::collection::vec("([ab1<>,\n ]|stmpd0123456789a[bc]){0,40}", 3..8)) {
        let mut nondeterminism = Nondeterminism::new();
        for pair in texts.windows(2) {
            nondeterminism.learn(&pair[0], &pair[1]);
        }
        for (one, other) in texts.iter().zip(texts.iter().rev()) {
            let difference = nondeterminism.difference(one, other);
            let users = |text: &str| -> Vec<String> {
                user_tokens(text).map(|range| text[range].to_owned()).collect()
            };
            // A token that the reference has nowhere is always reported.
            for user in users(other).iter().filter(|user| !users(one).contains(user)) {
                let extra = difference.as_ref().map(|found| &found.extra);
                prop_assert!(extra.is_some_and(|extra| extra.contains(user)), "{one:?} {other:?}");
            }
        }
    }

    #[test]
    fn no_text_causes_a_panic(one: String, other: String, third: String) {
        let mut nondeterminism = Nondeterminism::new();
        nondeterminism.learn(&one, &other);
        prop_assert_eq!(nondeterminism.difference(&one, &one), None);
        nondeterminism.difference(&one, &third);
        nondeterminism.difference(&third, &other);
    }
}
