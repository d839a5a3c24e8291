//! `--fallback`: what `get` and `plan` report about searches other than that of RFC 2056 §4.

use z3950_tests::program::z3950;

const ISBN: &str = "z39.50r://localhost/books?0141439513";

#[test]
fn the_step_that_found_the_record_is_reported() {
    // No record has this docid, but one has this ISBN.
    let strict = z3950(["--demo", "get", ISBN]);
    assert_eq!(
        (strict.code, strict.stdout.as_str()),
        (Some(3), ""),
        "{strict:?}"
    );
    let ran = z3950(["--demo", "get", "--fallback", ISBN]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(ran.stdout.contains("001 pg1342"), "{ran:?}");
    let words: Vec<&str> = ran.stderr.lines().collect();
    assert_eq!(
        words,
        [
            "note: 1=1032,4=104: no record matches; asked again: 1=1032",
            "note: 1=1032: no record matches; asked again: 1=12",
            "note: 1=12: no record matches; asked again: 1=1007",
            "note: 1=1007: no record matches; asked again: 1=7",
            "note: found by 1=7, which is not the search of RFC 2056",
        ]
    );
    for (flags, step) in [
        (&["--fallback"][..], Some("1=7")),
        (&["--fallback=attributes"], Some("1=7")),
        (&["--fallback", "syntax,databases"], None),
        (&[], None),
    ] {
        let ran = z3950(["--demo", "get", "--json", ISBN].iter().chain(flags));
        let envelope: serde_json::Value = serde_json::from_str(&ran.stdout).expect("JSON");
        assert_eq!(envelope["step"].as_str(), step, "{flags:?}: {ran:?}");
        assert_eq!(envelope["v"], 2);
    }
    let usual = z3950([
        "--demo",
        "get",
        "--json",
        "z39.50r://localhost/books?pg1342",
    ]);
    let envelope: serde_json::Value = serde_json::from_str(&usual.stdout).expect("JSON");
    assert_eq!(envelope["step"], "1=1032,4=104");
}

#[test]
fn several_records_are_ambiguous() {
    let ran = z3950([
        "--demo",
        "get",
        "--fallback",
        "z39.50r://localhost/books?twice",
    ]);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(4), ""), "{ran:?}");
}

#[test]
fn a_plan_shows_the_other_searches() {
    let url = "z39.50r://lib.example/cat?0378-5955";
    let ran = z3950(["plan", url]);
    assert!(!ran.stdout.contains("1=1007"), "{}", ran.stdout);
    let ran = z3950(["plan", "--fallback", url]);
    assert!(
        ran.stdout
            .contains("finds nothing: 1=1032, then 1=12, then 1=1007, then 1=8"),
        "{}",
        ran.stdout
    );
}
