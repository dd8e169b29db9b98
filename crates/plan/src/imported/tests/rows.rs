//! Tests of plans of JMeter whose requests take values from the rows of files.

use super::*;

/// A `CSVDataSet` of a file without quotes.
fn rows(file: &str, names: &str) -> String {
    format!(
        r#"<CSVDataSet><stringProp name="filename">{file}</stringProp><stringProp name="variableNames">{names}</stringProp><stringProp name="delimiter">,</stringProp></CSVDataSet><hashTree/>"#
    )
}

fn get(path: &str) -> String {
    sampler(&[("domain", "a.test"), ("path", path)], "", "")
}

/// Reads a plan beside these files.
fn read_beside(files: &[(&str, &str)], plan: &str) -> ImportedLoad {
    let directory = tempfile::tempdir().expect("a directory");
    for (name, text) in files {
        std::fs::write(directory.path().join(name), text).expect("written");
    }
    parse(Tool::Jmeter, plan, &directory.path().join("test.jmx")).expect("a load")
}

#[test]
fn each_iteration_takes_the_next_row() {
    let below = [
        headers(&[("X-User", "${user}")]),
        get("/login"),
        rows("${file}", "user,id"),
        get("/cart/${id}"),
        rows("more.csv", ""),
        get("/page/${page}"),
    ];
    let variables = variable("users", "4") + &variable("file", "users.csv");
    let files = [("users.csv", "joe,1\nann,2\ntim,3\n"), ("more.csv", "page\nx\ny\n")];
    let load = read_beside(&files, &plan(&variables, &below.concat()));
    let paths: Vec<&str> = load.requests.iter().map(|one| one.spec.path.as_str()).collect();
    let each =
        |id: u8, page: char| ["/login".to_owned(), format!("/cart/{id}"), format!("/page/{page}")];
    // The shorter file begins again.
    assert_eq!(paths, [each(1, 'x'), each(2, 'y'), each(3, 'x')].concat());
    let users: Vec<&str> = load.requests.iter().map(|one| one.spec.headers[0].1.as_str()).collect();
    assert_eq!(users, ["joe", "joe", "joe", "ann", "ann", "ann", "tim", "tim", "tim"]);
    // Four users, three loops, and three requests in each.
    assert_eq!(proposed(&load), "--concurrency 4 --requests 36");
    let ramp = (load.left_out[0].line, "`ThreadGroup.ramp_time`".to_owned());
    assert_eq!(left_out(&load), [ramp], "rows that are taken over are not left out");
}

#[test]
fn rows_hold_where_their_element_stands() {
    let controller = |below: &str| format!("<GenericController/><hashTree>{below}</hashTree>");
    let inside = controller(&(rows("users.csv", "id") + &get("/in/${id}")));
    let below = inside + &controller(&get("/out/${id}")) + &get("/all");
    let load = read_beside(&[("users.csv", "1\n2\n")], &plan("", &below));
    let paths: Vec<&str> = load.requests.iter().map(|one| one.spec.path.as_str()).collect();
    assert_eq!(paths, ["/in/1", "/all", "/in/2", "/all"]);
    let request = Omission::Request { part: RequestPart::Url };
    assert_eq!(load.left_out.iter().filter(|one| one.what == request).count(), 1);
}

#[test]
fn a_file_that_cannot_be_read_is_named() {
    for (files, name) in [
        (vec![], "users.csv"),
        (vec![("users.csv", "")], "users.csv"),
        (vec![("users.csv", "id\n")], "${file}"),
        (vec![], ".."),
    ] {
        let below = rows(name, "id") + &get("/a/${id}") + &get("/b");
        let load = read_beside(&files, &plan("", &below));
        assert_eq!(lines(&load), ["GET a.test /b"]);
        let is_rows = |one: &LeftOut| matches!(one.what, Omission::Rows { .. });
        assert!(load.left_out.iter().any(is_rows), "{name}: {:?}", load.left_out);
    }
}

#[test]
fn rows_end_where_there_would_be_too_many_requests() {
    let text: String = (0..6_000).map(|id| format!("{id}\n")).collect();
    let below = rows("users.csv", "id") + &get("/a/${id}") + &get("/b");
    let load = read_beside(&[("users.csv", &text)], &plan("", &below));
    assert_eq!(load.requests.len(), 10_000);
    assert_eq!(load.requests[9_998].spec.path, "/a/4999");
    let more = Omission::MoreRows { name: "CSVDataSet users.csv: id".to_owned(), taken: 5_000 };
    assert!(load.left_out.iter().any(|one| one.what == more), "{:?}", load.left_out);
}
